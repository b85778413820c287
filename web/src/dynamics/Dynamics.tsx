export function Dynamics({ id }: { id: string }) { return <h1>Dynamics {id}</h1> }
