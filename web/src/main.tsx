import { render } from 'preact'
import { startStream } from './events'
import { refreshSession } from './session'
import { Shell } from './shell'

const app = document.getElementById('app')!
app.replaceChildren()
void refreshSession()
startStream()
render(<Shell />, app)
