// The user's library: files to start from, such as structures and alignments, and files that runs have saved.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type LibraryRow, sameOrigin } from '../api'
import { Empty, ErrorMessage } from '../components'
import { FileButton } from '../controls'
import { designAddress, structureFile } from '../designs/address'
import { bytes, moment, plural, when } from '../format'
import { usePagedList } from '../list'
import { may, project, withProject } from '../project'
import { ListView, Table } from '../table'

/** A file of an item. */
interface LibraryFile {
  file_name: string
  size_bytes: number
}

/** The files of items, by the item's id; an item whose files could not be read has none. */
type Files = Record<string, LibraryFile[]>

/** The list of items, newest first. */
export function Library() {
  const list = usePagedList(api.library, (row: LibraryRow) => row.id)
  const [error, setError] = useState('')
  const rows = Array.isArray(list.rows) ? list.rows : []
  const files = useFiles(rows)
  const remove = async (row: LibraryRow) => {
    if (!confirm(`Delete “${row.name}” with everything in it? This cannot be undone.`)) return
    setError('')
    await api.deleteItem(row.id).catch((e: Error) => setError(`The item could not be deleted: ${e.message}`))
    await list.load()
  }
  return (
    <>
      <div class="head">
        <div>
          <h1>Library</h1>
          <p class="dim">Structures, alignments and other files to start from, and files that you saved.</p>
        </div>
        {may('member') && <Upload onUploaded={() => list.load()} onError={setError} />}
      </div>
      <ErrorMessage text={error} />
      <ListView list={list} what="items" empty={<NoItems />} onError={setError}>
        {(items) => (
          <>
            <div class="card flush">
              <Table class="cards library" columns={columns}>
                {items.map((row) => (
                  <Row
                    key={row.id}
                    row={row}
                    files={files[row.id]}
                    remove={() => void remove(row)}
                    onError={setError}
                  />
                ))}
              </Table>
            </div>
            <p class="dim small-text" role="status">
              {describeSum(items, files, list.hasOlder)}
            </p>
          </>
        )}
      </ListView>
    </>
  )
}

const columns = ['Name', 'Files', { title: 'Size', class: 'right' }, 'Created', { title: 'Actions', hidden: true }]

const NoItems = () => (
  <Empty title={project.value?.isOwn === false ? 'The library is empty' : 'Your library is empty'}>
    <p>Upload files here, or an alignment with the sequence that it belongs to.</p>
  </Empty>
)

/** The sum of the sizes of files. */
const sizeOf = (files: LibraryFile[]) => files.reduce((sum, f) => sum + f.size_bytes, 0)

/** How many bytes the items shown use. */
function describeSum(items: LibraryRow[], files: Files, hasOlder: boolean): string {
  if (items.some((row) => !files[row.id])) return 'Adding up the sizes…'
  const sum = sizeOf(items.flatMap((row) => files[row.id]!))
  return `${plural(items.length, 'item')}${hasOlder ? ' shown' : ''} with ${bytes(sum)}`
}

/** Reads the files of each item once. */
function useFiles(rows: LibraryRow[]): Files {
  const [files, setFiles] = useState<Files>({})
  const requested = useRef(new Set<string>())
  useEffect(() => {
    for (const { id, updated_at } of rows) {
      const version = id + updated_at
      if (requested.current.has(version)) continue
      requested.current.add(version)
      const show = (found: LibraryFile[]) => setFiles((old) => ({ ...old, [id]: found }))
      api.item(id).then(
        (item) => show(item.metadata.files ?? []),
        () => show([]), // it was deleted just now
      )
    }
  }, [rows])
  return files
}

/** The file name without its extension, and the extension. */
function splitName(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.')
  return dot > 0 ? [name.slice(0, dot), name.slice(dot + 1).toLowerCase()] : [name, '']
}

interface UploadProps {
  onUploaded(): Promise<void>
  onError(message: string): void
}

/** The button that uploads files, each as an item of its own. */
function Upload({ onUploaded, onError }: UploadProps) {
  const [busy, setBusy] = useState('')
  const upload = async (files: File[]) => {
    onError('')
    for (const file of files) {
      setBusy(`Uploading ${file.name}…`)
      const [stem, extension] = splitName(file.name)
      try {
        const { id } = await api.createItem(stem.slice(0, 255), extension)
        try {
          await api.uploadFile(id, file.name, file)
        } catch (e) {
          await api.deleteItem(id).catch(() => undefined)
          throw e
        }
      } catch (e) {
        onError(`${file.name} could not be uploaded: ${(e as Error).message}`)
        break
      }
    }
    setBusy('')
    await onUploaded()
  }
  return (
    <FileButton multiple disabled={busy !== ''} inputLabel="Files to upload" onFiles={(files) => void upload(files)}>
      {busy || 'Upload files…'}
    </FileButton>
  )
}

interface RowProps {
  row: LibraryRow
  /** undefined: not read yet. */
  files: LibraryFile[] | undefined
  remove(): void
  onError(message: string): void
}

/** An item with its files, each of which can be downloaded. */
function Row({ row, files, remove, onError }: RowProps) {
  const save = async (name: string) => {
    try {
      const link = document.createElement('a')
      link.href = sameOrigin(await api.fileUrl(row.id, name))
      link.download = ''
      link.click()
    } catch (e) {
      onError(`${name} could not be downloaded: ${(e as Error).message}`)
    }
  }
  return (
    <tr data-item={row.id}>
      <td data-label="Name">
        <span class="name">{row.name}</span> {row.type === 'folder' && <span class="chip plain">folder</span>}
        {row.origin && <div class="dim small-text">{row.origin}</div>}
      </td>
      <td data-label="Files">
        {files?.map((f) => (
          <div key={f.file_name}>
            <button
              type="button"
              class="bare"
              aria-label={`Download ${f.file_name} of ${row.name}`}
              onClick={() => void save(f.file_name)}
            >
              {f.file_name}
            </button>
          </div>
        ))}
        {files?.length === 0 && <span class="dim">none</span>}
      </td>
      <td data-label="Size" class="right num">
        {files && bytes(sizeOf(files))}
      </td>
      <td data-label="Created" class="num dim" title={moment(row.created_at)}>
        {when(row.created_at)}
      </td>
      <td class="right item-actions">
        {structureFile(files ?? []) && (
          <>
            <a class="button quiet small" aria-label={`Open ${row.name}`} href={`/ui/library/${row.id}`}>
              Open
            </a>
            {may('member') && (
              <a
                class="button quiet small"
                aria-label={`Design a binder for ${row.name}`}
                href={withProject(designAddress({ item: row.id }))}
              >
                Design
              </a>
            )}
          </>
        )}
        {may('member') && (
          <button type="button" class="danger small" aria-label={`Delete ${row.name}`} onClick={remove}>
            Delete
          </button>
        )}
      </td>
    </tr>
  )
}
