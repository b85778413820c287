export function Submit() { return <h1>Submit</h1> }
