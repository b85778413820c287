import { batchPath } from '../api'

// The files of a table, by the last part of their address.
const files = [
  { name: 'table.csv', title: 'CSV' },
  { name: 'table.jsonl', title: 'JSON Lines' },
  { name: 'table.parquet', title: 'Parquet' },
  { name: 'archive.zip', title: 'Structures' },
]

/** Links to files with the rows that are shown, in their order. selection: the filter and the order, as a query. */
export const Exports = ({ id, selection }: { id: string; selection: string }) => (
  <div class="row exports" role="group" aria-label="Download what is shown">
    <span class="dim small-text" aria-hidden="true">
      Download
    </span>
    {files.map(({ name, title }) => (
      <a
        key={name}
        class="button quiet small"
        href={`${batchPath(id)}/${name}${selection && `?${selection}`}`}
        download
        title={`${name} with the rows that are shown`}
      >
        {title}
      </a>
    ))}
  </div>
)
