// Draws several structures in one view with Mol*, each moved by a transform and in a colour of its own. Like viewer.ts, it
// is loaded on demand.

import { Mat4 } from 'molstar/lib/mol-math/linear-algebra.js'
import type { Model } from 'molstar/lib/mol-model/structure.js'
import { StructureElement } from 'molstar/lib/mol-model/structure.js'
import type { PluginContext } from 'molstar/lib/mol-plugin/context.js'
import {
  changeCameraRotation,
  structureLayingTransform,
} from 'molstar/lib/mol-plugin-state/manager/focus-camera/orient-axes.js'
import type { PluginStateObject } from 'molstar/lib/mol-plugin-state/objects.js'
import { StateTransforms } from 'molstar/lib/mol-plugin-state/transforms.js'
import type { StateObjectSelector } from 'molstar/lib/mol-state/index.js'
import { Color } from 'molstar/lib/mol-util/color/index.js'
import { type RGB, toHex } from '../plots/colour'
import type { Residue } from '../store'
import { graphics, NoWebGL } from './graphics'
import { lociOf, residueOf } from './residues'
import { canvasProps, drawn, newPlugin } from './viewer'

/** A structure to draw: its text, how it is moved, and its colour. */
export interface Superposed {
  format: 'mmcif' | 'pdb'
  text: string
  /** By rows. */
  rotation: number[][]
  translation: number[]
  rgb: RGB
}

/** A residue of one of the structures, by the structure's index. */
export interface ResidueOf extends Residue {
  structure: number
}

type Selector = StateObjectSelector<PluginStateObject.Molecule.Structure>

/** A 3D view of superposed structures. */
export class SuperposedViewer {
  private readonly structures: Selector[] = []
  private readonly models = new Map<Model, number>()
  private disposed = false

  private constructor(
    private readonly plugin: PluginContext,
    private readonly host: HTMLElement,
    private readonly onHover: (residue: ResidueOf | null) => void,
  ) {}

  /** Creates a view that fills the host and draws the structures. Throws NoWebGL. */
  static async open(
    host: HTMLElement,
    list: Superposed[],
    dark: boolean,
    onHover: (residue: ResidueOf | null) => void,
  ): Promise<SuperposedViewer> {
    const plugin = await newPlugin()
    const viewer = new SuperposedViewer(plugin, host, onHover)
    if (!(await plugin.mountAsync(host))) {
      plugin.dispose()
      throw new NoWebGL('The browser could not start its 3D graphics.')
    }
    viewer.setTheme(dark)
    plugin.canvas3d?.pause(true)
    for (const [i, one] of list.entries()) await viewer.add(one, i)
    plugin.canvas3d?.animate()
    viewer.fit()
    viewer.subscribe()
    await drawn(plugin, () => viewer.disposed)
    if (!viewer.disposed) host.dataset.ready = 'true'
    return viewer
  }

  /** Draws one structure more. */
  private async add(one: Superposed, index: number) {
    const { builders } = this.plugin
    const data = await builders.data.rawData({ data: one.text })
    const trajectory = await builders.structure.parseTrajectory(data, one.format)
    const model = await builders.structure.createModel(trajectory)
    const structure = await builders.structure.createStructure(model)
    const moved = await this.plugin
      .build()
      .to(structure)
      .apply(StateTransforms.Model.TransformStructureConformation, {
        transform: { name: 'matrix', params: { data: matrixOf(one), transpose: false } },
      })
      .commit()
    if (model.obj) this.models.set(model.obj.data, index)
    this.structures[index] = moved
    const residues = moved.obj?.data.polymerResidueCount ?? 0
    const quality = graphics().software && residues > maxFineResidues ? { quality: 'low' as const } : {}
    for (const part of ['polymer', 'ligand', 'ion', 'branched'] as const) {
      const component = await builders.structure.tryCreateComponentStatic(moved, part)
      if (component)
        await builders.structure.representation.addRepresentation(component, {
          type: part === 'polymer' ? 'cartoon' : 'ball-and-stick',
          typeParams: part === 'polymer' ? quality : {},
          color: 'uniform',
          colorParams: { value: Color(toHex(one.rgb)) },
        })
    }
  }

  /** Highlights residues of the structures. */
  highlight(residues: ResidueOf[]): void {
    if (this.disposed) return
    const { lociHighlights } = this.plugin.managers.interactivity
    lociHighlights.clearHighlights()
    for (const r of residues) {
      const structure = this.structures[r.structure]?.obj?.data
      if (!structure) continue
      const loci = lociOf(structure, [{ chain: r.chain, from: r.residue, to: r.residue }])
      if (loci.elements.length > 0) lociHighlights.highlight({ loci }, false)
    }
  }

  /** Shows or hides structures. */
  async setHidden(hidden: boolean[]): Promise<void> {
    for (const [i, s] of this.structures.entries())
      if (s?.cell && !this.disposed) this.plugin.state.data.updateCellState(s.ref, { isHidden: hidden[i] ?? false })
    this.plugin.canvas3d?.requestDraw()
  }

  /** Points the camera at some residues, or at everything if the list is empty. */
  focus(residues: ResidueOf[]): void {
    const durationMs = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 250
    const loci = residues.flatMap((r) => {
      const structure = this.structures[r.structure]?.obj?.data
      return structure ? [lociOf(structure, [{ chain: r.chain, from: r.residue, to: r.residue }])] : []
    })
    if (this.disposed) return
    if (loci.length === 0) this.fit(durationMs)
    else this.plugin.managers.camera.focusLoci(loci, { durationMs, minRadius: 8, extraRadius: 4 })
  }

  /** Shows all structures with the broad side of the first one to the front. */
  private fit(durationMs = 0) {
    const canvas = this.plugin.canvas3d
    const all = this.structures.flatMap((s) => (s?.obj ? [s.obj.data] : []))
    if (!canvas || all.length === 0) return
    const { center, radius } = all.reduce((a, b) => (a.boundary.sphere.radius >= b.boundary.sphere.radius ? a : b))
      .boundary.sphere
    const { rotation } = structureLayingTransform(all)
    canvas.requestCameraReset({
      snapshot: changeCameraRotation(
        { ...canvas.camera.getSnapshot(), ...canvas.camera.getFocus(center, radius * 1.1 + 1) },
        rotation,
      ),
      durationMs,
    })
  }

  /** Sets the background and outlines for a dark or light page. */
  setTheme(dark: boolean): void {
    this.plugin.canvas3d?.setProps(canvasProps(dark, graphics().software))
  }

  /** Saves the view as a PNG file. */
  async savePicture(name: string): Promise<void> {
    await this.plugin.helpers.viewportScreenshot?.download(name)
  }

  dispose(): void {
    this.disposed = true
    this.plugin.dispose()
    delete this.host.dataset.ready
  }

  private subscribe() {
    this.plugin.behaviors.interaction.hover.subscribe(({ current }) => {
      const residue = residueOf(current.loci)
      const loci = current.loci
      const model = StructureElement.Loci.is(loci) ? loci.structure.models[0] : undefined
      const structure = model && this.models.get(model)
      this.onHover(residue && structure !== undefined ? { ...residue, structure } : null)
    })
  }
}

/** The transform as Mol*'s matrix. */
function matrixOf({ rotation, translation }: Superposed): Mat4 {
  const m = Mat4.identity()
  for (const [i, row] of rotation.entries()) {
    for (const [j, v] of row.entries()) Mat4.setValue(m, i, j, v)
    Mat4.setValue(m, i, 3, translation[i]!)
  }
  return m
}

// Larger structures have coarser shapes where the browser draws in software.
const maxFineResidues = 400
