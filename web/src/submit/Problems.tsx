/** The service's messages about a field, shown below it. */
export const Problems = ({ messages }: { messages: string[] }) => (
  <>
    {messages.map((message) => (
      <p key={message} class="wrong">
        {message}
      </p>
    ))}
  </>
)
