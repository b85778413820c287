export function Jobs() { return <h1>Jobs</h1> }
