export function Result({ id }: { id: string }) { return <h1>Result {id}</h1> }
