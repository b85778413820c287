import { render } from 'preact'
import { startStream } from './events'
import { readLogin, refreshSession } from './session'
import { preload, Shell } from './shell'

const app = document.getElementById('app')!
app.replaceChildren()
preload()
void refreshSession()
void readLogin()
startStream()
render(<Shell />, app)
