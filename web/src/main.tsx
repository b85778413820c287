import { render } from 'preact'
import { startStream } from './events'
import { refreshSession } from './session'
import { preload, Shell } from './shell'

const app = document.getElementById('app')!
app.replaceChildren()
preload()
void refreshSession()
startStream()
render(<Shell />, app)
