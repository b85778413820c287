// Addresses by which other pages lead to designs.

/** The address of the form that makes a design, for a target: job and run, or item and file, or pdb; and a mode. */
export const designAddress = (target: Record<string, string>) => `/ui/designs/new?${new URLSearchParams(target)}`

/** The name of the first structure among the files of a library item; undefined: there is none. */
export const structureFile = (files: { file_name: string }[]) =>
  files.map((f) => f.file_name).find((name) => /\.(cif|mmcif|pdb|ent)$/i.test(name))
