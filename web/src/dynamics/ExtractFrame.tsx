// The form that saves the frame shown as a structure file.
import { useState } from 'preact/hooks'
import { api, type ExtractedFrame, sameOrigin, type Workflow } from '../api'
import { ErrorMessage } from '../components'
import { Input } from '../controls'
import { frame } from '../store'

/** times: the time of each frame in ns. The file also becomes an item of the user's library. */
export function ExtractFrame({ workflow, times }: { workflow: Workflow; times: number[] }) {
  const [residues, setResidues] = useState('all')
  const [fileName, setFileName] = useState('frame.pdb')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const [extracted, setExtracted] = useState<ExtractedFrame>()
  const time = times[frame.value] ?? 0
  const extract = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setError('')
    setExtracted(undefined)
    try {
      const request = { timeNs: time, selection: residues, outputFilename: fileName }
      setExtracted(await api.extractFrame(workflow.workflow_id, request))
    } catch (err) {
      setError((err as Error).message)
    }
    setBusy(false)
  }
  return (
    <section class="card" aria-labelledby="extract-title">
      <h2 id="extract-title">Save this frame as a structure</h2>
      <form onSubmit={(e) => void extract(e)}>
        <div class="fields">
          <label class="field">
            <span>Time (ns)</span>
            <input type="text" class="num" value={String(time)} readOnly />
            <small>The frame shown; move the player to choose another.</small>
          </label>
          <label class="field">
            <span>Residues</span>
            <Input value={residues} required maxLength={1000} onValue={setResidues} />
            <small>all, resid 5:12, chainID A and not resname GLY</small>
          </label>
          <label class="field">
            <span>File name</span>
            <Input value={fileName} required maxLength={100} onValue={setFileName} />
          </label>
        </div>
        <ErrorMessage text={error} />
        <div class="row">
          <button type="submit" class="small" disabled={busy}>
            {busy ? 'Saving…' : 'Save frame'}
          </button>
          {extracted && <Result extracted={extracted} />}
        </div>
      </form>
    </section>
  )
}

/** The link to the saved file, with the time that was found and the number of atoms. */
function Result({ extracted: f }: { extracted: ExtractedFrame }) {
  return (
    <span role="status">
      <a href={sameOrigin(f.pdbUrl)} download={f.path}>
        {f.path}
      </a>{' '}
      <span class="dim">
        Frame {f.frameIndex + 1} at {f.actualTimeNs} ns, {f.atomCount} atoms. It is also in your library.
      </span>
    </span>
  )
}
