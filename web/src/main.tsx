import { render } from 'preact'
import { listen } from './events'
import { look } from './session'
import { Shell } from './shell'

const app = document.getElementById('app')!
app.replaceChildren()
void look()
listen()
render(<Shell />, app)
