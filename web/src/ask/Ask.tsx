export function Ask({ id }: { id: string }) { return <h1>Ask {id}</h1> }
