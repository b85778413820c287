// Draws a structure or a trajectory with Mol*. Only this file and residues.ts know Mol*: their interface uses chain
// names and residue numbers. It is loaded on demand, because Mol* is far larger than the rest of the page.

import { PLDDTConfidenceColorThemeProvider } from 'molstar/lib/extensions/model-archive/quality-assessment/color/plddt.js'
import { QualityAssessmentProvider } from 'molstar/lib/extensions/model-archive/quality-assessment/prop.js'
import type { PartialCanvas3DProps } from 'molstar/lib/mol-canvas3d/canvas3d.js'
import { Vec2 } from 'molstar/lib/mol-math/linear-algebra.js'
import type { Location } from 'molstar/lib/mol-model/location.js'
import { Bond, type Structure, StructureElement } from 'molstar/lib/mol-model/structure.js'
import { HighlightLoci } from 'molstar/lib/mol-plugin/behavior/dynamic/representation.js'
import { PluginConfig } from 'molstar/lib/mol-plugin/config.js'
import { PluginContext } from 'molstar/lib/mol-plugin/context.js'
import { PluginSpec } from 'molstar/lib/mol-plugin/spec.js'
import {
  changeCameraRotation,
  structureLayingTransform,
} from 'molstar/lib/mol-plugin-state/manager/focus-camera/orient-axes.js'
import type { PluginStateObject } from 'molstar/lib/mol-plugin-state/objects.js'
import { StateTransforms } from 'molstar/lib/mol-plugin-state/transforms.js'
import type { StateObjectSelector } from 'molstar/lib/mol-state/index.js'
import { ColorThemeCategory } from 'molstar/lib/mol-theme/color/categories.js'
import type { ColorTheme } from 'molstar/lib/mol-theme/color.js'
import { Overpaint } from 'molstar/lib/mol-theme/overpaint.js'
import type { ThemeDataContext } from 'molstar/lib/mol-theme/theme.js'
import { Color } from 'molstar/lib/mol-util/color/index.js'
import { ParamDefinition } from 'molstar/lib/mol-util/param-definition.js'
import { chainColour, designColours, none, type RGB, rmsdBand, smooth, toHex } from '../plots/colour'
import type { Colour, Residue, Stretch } from '../store'
import { graphics, NoWebGL } from './graphics'
import { bFactor, key, lociOf, plddt, residueAt, residueOf } from './residues'

/** A colour for some residues, over the colour scheme. */
export interface Paint {
  stretches: Stretch[]
  rgb: RGB
}

/**
 * The source to draw: the text of a structure; or a topology in PDB format, its frames in DCD format, and the largest
 * distance of an atom from the centre in Å (maxRadius).
 */
export type Source =
  | { format: 'mmcif' | 'pdb'; text: string }
  | { topology: string; frames: Uint8Array<ArrayBuffer>; maxRadius: number }

/** The settings and callbacks of a viewer. */
export interface Options {
  dark: boolean
  colour: Colour
  onHover(residue: Residue | null): void
  /** Called for a click; extend: with Shift, Control or Meta. */
  onPick(residue: Residue | null, extend: boolean): void
}

/** How polymers are drawn. */
export type Shape = 'cartoon' | 'sticks' | 'surface'

type Selector = StateObjectSelector<PluginStateObject.Molecule.Structure>
// biome-ignore lint/complexity/noBannedTypes: Mol*'s type for themes without parameters
type Theme = ColorTheme.Provider<{}, string>
type Drawn = StateObjectSelector<PluginStateObject.Molecule.Structure.Representation3D>

/** A 3D view of one structure or trajectory at a time. Changes are applied in the order of the calls. */
export class Viewer {
  /** The number of frames of the trajectory; 1 for a structure. */
  frames = 1
  private model?: StateObjectSelector<PluginStateObject.Molecule.Model>
  private structure?: Selector
  private shapes: Drawn[] = []
  private polymer?: Drawn
  private kind: Shape = 'cartoon'
  private overpaints: string[] = []
  private sticks?: Selector
  private colour: Colour
  private maxRadius = 0
  private values = new Map<string, number>()
  private designed: string[] = []
  private range: [number, number] = [0, 1]
  private paints: Paint[] = []
  private lastChange: Promise<unknown> = Promise.resolve() // Mol*'s state accepts one change at a time
  private requestedFrame = -1 // the last one
  private disposed = false
  private readonly abort = new AbortController()

  private constructor(
    private readonly plugin: PluginContext,
    private readonly host: HTMLElement,
    private readonly options: Options,
    private readonly software: boolean,
  ) {
    this.colour = options.colour
  }

  /** Creates a viewer that fills the host, which must have a size and a position. Throws NoWebGL. */
  static async open(host: HTMLElement, options: Options): Promise<Viewer> {
    const { software } = graphics()
    const plugin = await newPlugin()
    plugin.customModelProperties.register(QualityAssessmentProvider, true)
    const themes = plugin.representation.structure.themes.colorThemeRegistry
    themes.add(PLDDTConfidenceColorThemeProvider)
    const viewer = new Viewer(plugin, host, options, software)
    themes.add(
      viewer.theme('pleat-smooth', (at) => {
        const v = plddt(at)
        return v === undefined ? none : smooth(v / 100)
      }),
    )
    themes.add(
      viewer.theme('pleat-rmsd', (at) => {
        const v = bFactor(at)
        return v === undefined ? none : rmsdBand(v).rgb
      }),
    )
    themes.add(
      viewer.theme('pleat-values', (at) => {
        const v = viewer.values.get(key(residueAt(at)))
        return v === undefined ? none : smooth((v - viewer.range[0]) / (viewer.range[1] - viewer.range[0] || 1))
      }),
    )
    const chains = new Map<string, number>()
    themes.add(
      viewer.theme('pleat-chain', (at) => {
        const id = residueAt(at).chain
        if (!chains.has(id)) chains.set(id, chains.size)
        return chainColour(chains.get(id)!)
      }),
    )
    themes.add(
      viewer.theme('pleat-design', (at) =>
        viewer.designed.includes(residueAt(at).chain) ? designColours.designed : designColours.target,
      ),
    )
    if (!(await plugin.mountAsync(host))) {
      plugin.dispose()
      throw new NoWebGL('The browser could not start its 3D graphics.')
    }
    viewer.setTheme(options.dark)
    viewer.subscribe()
    return viewer
  }

  /** Draws a source in place of the previous one. Resolves when it is on the canvas. */
  load(source: Source): Promise<void> {
    return this.queue(async () => {
      delete this.host.dataset.ready
      const canvas = this.plugin.canvas3d
      canvas?.pause(true) // half a structure is not worth a drawing, which in software takes long
      const before = canvas?.didDraw.value
      try {
        await this.build(source)
      } finally {
        canvas?.animate() // draws at once if the shaders are there, as those of an earlier source
      }
      performance.mark('pleat:structure') // from here on the graphics card works
      const complete = canvas?.commitQueueSize.value === 0 && canvas.reprCount.value > 0
      if (!complete || canvas.didDraw.value === before) await drawn(this.plugin, () => this.disposed)
      performance.mark('pleat:drawn')
      this.host.dataset.ready = 'true'
    })
  }

  /** Builds the shapes of a source in place of the previous ones, and points the camera at them. */
  private async build(source: Source) {
    const { plugin } = this
    await plugin.clear()
    this.shapes = []
    this.overpaints = []
    this.sticks = undefined
    this.requestedFrame = -1
    this.maxRadius = 'topology' in source ? source.maxRadius : 0
    const trajectory = 'text' in source ? await this.parseStructure(source) : await this.parseTrajectory(source)
    this.frames = trajectory.obj?.data.frameCount ?? 1
    this.model = await plugin.builders.structure.createModel(trajectory)
    this.structure = await plugin.builders.structure.createStructure(this.model)
    await this.represent('topology' in source)
    await this.repaint()
    this.fit(0)
  }

  private async parseStructure(source: { format: 'mmcif' | 'pdb'; text: string }) {
    const data = await this.plugin.builders.data.rawData({ data: source.text })
    return this.plugin.builders.structure.parseTrajectory(data, source.format)
  }

  private async parseTrajectory(source: { topology: string; frames: Uint8Array<ArrayBuffer> }) {
    const { plugin } = this
    const topology = await this.parseStructure({ format: 'pdb', text: source.topology })
    const model = await plugin.builders.structure.createModel(topology)
    const bytes = await plugin.builders.data.rawData({ data: source.frames })
    const coordinates = await plugin.build().to(bytes).apply(StateTransforms.Model.CoordinatesFromDcd).commit()
    return plugin
      .build()
      .toRoot()
      .apply(
        StateTransforms.Model.TrajectoryFromModelAndCoordinates,
        { modelRef: model.ref, coordinatesRef: coordinates.ref },
        { dependsOn: [model.ref, coordinates.ref] },
      )
      .commit()
  }

  /** Draws polymers in their shape, everything else as ball and stick. Beads have no atoms, so they are cartoons. */
  private async represent(beads: boolean) {
    const { builders } = this.plugin
    const color = this.themeName() as 'uniform'
    const polymer = await builders.structure.tryCreateComponentStatic(this.structure!, 'polymer')
    this.polymer = undefined
    if (polymer) {
      this.polymer = await builders.structure.representation.addRepresentation(polymer, {
        type: kinds[beads ? 'cartoon' : this.kind],
        typeParams: this.polymerQuality(),
        color,
      })
      this.shapes.push(this.polymer)
    }
    for (const part of ['ligand', 'ion', 'branched'] as const) {
      const component = await builders.structure.tryCreateComponentStatic(this.structure!, part)
      if (component)
        this.shapes.push(
          await builders.structure.representation.addRepresentation(component, { type: 'ball-and-stick', color }),
        )
    }
  }

  /** Parameters of a polymer's shape. In software, each vertex costs time: tubes then have fewer sides. */
  private polymerQuality(): { quality?: 'low' } {
    const residues = this.structure?.obj?.data.polymerResidueCount ?? 0
    return this.software && residues > maxFineResidues ? { quality: 'low' } : {}
  }

  /** Changes how polymers are drawn. */
  setShape(kind: Shape): Promise<void> {
    return this.queue(async () => {
      if (kind === this.kind || !this.polymer) return
      this.kind = kind
      const type = this.plugin.representation.structure.registry.get(kinds[kind])
      const params = type.getParams(this.plugin.representation.structure.themes, this.structure!.obj!.data)
      await this.plugin
        .build()
        .to(this.polymer)
        .update((old) => ({
          ...old,
          type: {
            name: kinds[kind],
            params: { ...ParamDefinition.getDefaultValues(params), ...this.polymerQuality() },
          },
        }))
        .commit()
    })
  }

  /** Changes the colour scheme. values are for the scheme rmsf, designed chains for design. */
  setColours(mode: Colour, values?: { at: Residue; value: number }[], designed: string[] = []): Promise<void> {
    return this.queue(async () => {
      this.colour = mode
      this.designed = designed
      if (values) {
        this.values = new Map(values.map((v) => [key(v.at), v.value]))
        const all = values.map((v) => v.value)
        this.range = [Math.min(...all), Math.max(...all)]
      }
      const build = this.plugin.build()
      const isOwn = this.themeName().startsWith('pleat-') // Mol* has default parameters for the others
      for (const shape of this.shapes) {
        build.to(shape).update((old) => ({
          ...old,
          colorTheme: { name: this.themeName(), params: isOwn ? { version: ++version } : {} },
        }))
      }
      await build.commit()
    })
  }

  private themeName(): string {
    switch (this.colour) {
      case 'plddt':
        return 'plddt-confidence'
      case 'continuous':
        return 'pleat-smooth'
      case 'rmsd':
        return 'pleat-rmsd'
      case 'chain':
        return 'pleat-chain'
      case 'secondary':
        return 'secondary-structure'
      case 'type':
        return 'residue-name'
      case 'rmsf':
        return 'pleat-values'
      case 'design':
        return 'pleat-design'
    }
  }

  /** Colours stretches until the next call. withAtoms also shows their atoms, unless they are many. */
  paint(paints: Paint[], withAtoms: boolean): Promise<void> {
    this.paints = paints
    return this.queue(async () => {
      await this.repaint()
      await this.showAtoms(withAtoms ? paints.flatMap((p) => p.stretches) : [])
      this.plugin.canvas3d?.requestDraw()
    })
  }

  private async repaint() {
    if (!this.structure?.obj) return
    const structure = this.structure.obj.data
    const layers = this.paints
      .map((p) => ({ loci: lociOf(structure, p.stretches), color: Color(toHex(p.rgb)), clear: false }))
      .filter((l) => l.loci.elements.length > 0)
    const build = this.plugin.build()
    for (const ref of this.overpaints) build.delete(ref)
    this.overpaints = []
    const whole = Overpaint.merge({ kind: 'element-loci', layers })
    for (const shape of this.shapes) {
      const part = Overpaint.filter(whole, shape.obj!.data.sourceData)
      if (part.layers.length === 0) continue
      const params = Overpaint.toBundle(part as Overpaint<StructureElement.Loci>)
      this.overpaints.push(
        build.to(shape).apply(StateTransforms.Representation.OverpaintStructureRepresentation3DFromBundle, params).ref,
      )
    }
    await build.commit()
  }

  private async showAtoms(stretches: Stretch[]) {
    const { plugin } = this
    if (this.sticks) {
      await plugin.build().delete(this.sticks).commit()
      this.sticks = undefined
    }
    if (!this.structure?.obj || stretches.length === 0) return
    const structure = this.structure.obj.data
    if (stretches.reduce((n, s) => n + s.to - s.from + 1, 0) > maxResiduesWithAtoms) return
    const loci = lociOf(structure, stretches)
    if (loci.elements.length === 0) return
    this.sticks = await plugin
      .build()
      .to(this.structure)
      .apply(StateTransforms.Model.StructureSelectionFromBundle, {
        bundle: StructureElement.Bundle.fromLoci(loci),
        label: 'picked',
      })
      .commit()
    await plugin.builders.structure.representation.addRepresentation(this.sticks, {
      type: 'ball-and-stick',
      color: 'element-symbol',
      colorParams: {
        carbonColor: { name: 'uniform', params: { value: Color(0xc8ccd2), saturation: 0, lightness: 0 } },
      },
      typeParams: { sizeFactor: 0.18, sizeAspectRatio: 0.8 },
    })
  }

  /** Highlights residues, as hovering over them does. */
  highlight(residues: Residue[]): void {
    const structure = this.structure?.obj?.data
    if (this.disposed || !structure) return
    const loci = lociOf(
      structure,
      residues.map((r) => ({ chain: r.chain, from: r.residue, to: r.residue })),
    )
    this.plugin.managers.interactivity.lociHighlights.highlightOnly({ loci })
  }

  /** Points the camera at some residues, or at everything if the list is empty. */
  focus(stretches: Stretch[]): void {
    const structure = this.structure?.obj?.data
    if (this.disposed || !structure) return
    const loci = lociOf(structure, stretches)
    const durationMs = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 250
    if (loci.elements.length === 0) this.fit(durationMs)
    else this.plugin.managers.camera.focusLoci(loci, { durationMs, minRadius: 8, extraRadius: 4 })
  }

  /** Shows everything with its broad side to the front, with room for the frames of a trajectory. */
  private fit(durationMs: number) {
    const canvas = this.plugin.canvas3d
    const structure = this.structure?.obj?.data
    if (!canvas || !structure) return
    const { center, radius } = structure.boundary.sphere
    const focus = canvas.camera.getFocus(center, Math.max(radius, this.maxRadius * 1.3) + 1)
    const { rotation } = structureLayingTransform([structure])
    canvas.requestCameraReset({
      snapshot: changeCameraRotation({ ...canvas.camera.getSnapshot(), ...focus }, rotation),
      durationMs,
    })
  }

  /** Shows a frame of a trajectory, counted from 0. If it is called several times while a frame is drawn, the last call
   * counts. */
  setFrame(i: number): Promise<void> {
    this.requestedFrame = Math.max(0, Math.min(this.frames - 1, i))
    const frame = this.requestedFrame
    return this.queue(async () => {
      if (frame !== this.requestedFrame || !this.model) return
      await this.plugin
        .build()
        .to(this.model)
        .update(StateTransforms.Model.ModelFromTrajectory, () => ({ modelIndex: frame }))
        .commit()
      this.host.dataset.frame = String(frame)
    })
  }

  /** Sets the background and outlines for a dark or light page. */
  setTheme(dark: boolean): void {
    this.plugin.canvas3d?.setProps(canvasProps(dark, this.software))
  }

  /** Saves the view as a PNG file. */
  async savePicture(name: string): Promise<void> {
    await this.plugin.helpers.viewportScreenshot?.download(name)
  }

  dispose(): void {
    this.disposed = true
    this.abort.abort()
    this.plugin.dispose()
    delete this.host.dataset.ready
    delete this.host.dataset.frame
  }

  private subscribe() {
    const { behaviors } = this.plugin
    let last = ''
    const report = (residue: Residue | null) => {
      const current = residue ? key(residue) : ''
      if (current === last) return
      last = current
      this.options.onHover(residue)
    }
    if (this.software) this.identifyAtRest(report)
    else behaviors.interaction.hover.subscribe(({ current }) => report(residueOf(current.loci)))
    behaviors.interaction.click.subscribe(({ current, modifiers, button }) => {
      if (button === 1)
        this.options.onPick(residueOf(current.loci), modifiers.shift || modifiers.control || modifiers.meta)
    })
  }

  /**
   * Reports the residue under the pointer when the browser draws in software. Mol* identifies it in the background and
   * gives up after five frames, which is too soon there; so this asks directly once the pointer rests.
   */
  private identifyAtRest(report: (residue: Residue | null) => void) {
    let timer: ReturnType<typeof setTimeout> | undefined
    this.host.addEventListener(
      'pointermove',
      (e) => {
        clearTimeout(timer)
        if (e.buttons !== 0) return
        const box = this.host.getBoundingClientRect()
        let tries = 0
        const identify = () => {
          const canvas = this.plugin.canvas3d
          if (this.disposed || !canvas) return
          const found = canvas.identify(Vec2.create(e.clientX - box.left, e.clientY - box.top))
          report(found ? residueOf(canvas.getLoci(found.id).loci) : null)
          if (!found && ++tries < 12) timer = setTimeout(identify, 100) // nothing is found while Mol* identifies
        }
        timer = setTimeout(identify, 60)
      },
      { signal: this.abort.signal },
    )
    this.host.addEventListener(
      'pointerleave',
      () => {
        clearTimeout(timer)
        report(null)
      },
      { signal: this.abort.signal },
    )
  }

  /** Runs changes one after the other. A change that fails does not stop those after it. */
  private queue(change: () => Promise<void>): Promise<void> {
    const next = this.lastChange.then(async () => {
      if (!this.disposed) await change()
    })
    this.lastChange = next.catch(() => undefined)
    return next
  }

  /** Makes a colour theme of a function from an atom's location to its colour. */
  private theme(name: string, colourOf: (location: StructureElement.Location) => RGB): Theme {
    const atom = StructureElement.Location.create(undefined as unknown as Structure)
    const color = (location: Location): Color => {
      if (StructureElement.Location.is(location)) return Color(toHex(colourOf(location)))
      if (Bond.isLocation(location)) {
        atom.structure = location.aStructure
        atom.unit = location.aUnit
        atom.element = location.aUnit.elements[location.aIndex]!
        return Color(toHex(colourOf(atom)))
      }
      return Color(toHex(none))
    }
    const factory = (_: ThemeDataContext, props: object) => ({
      factory,
      granularity: 'group' as const,
      preferSmoothing: true,
      color,
      props,
      description: name,
    })
    return {
      name,
      label: name,
      category: ColorThemeCategory.Misc,
      factory,
      getParams: () => ({ version: ParamDefinition.Numeric(0) }),
      defaultValues: { version: 0 },
      isApplicable: () => true,
      ensureCustomProperties: PLDDTConfidenceColorThemeProvider.ensureCustomProperties,
    } as unknown as Theme
  }
}

/** Starts Mol* without a canvas. */
export async function newPlugin(): Promise<PluginContext> {
  const plugin = new PluginContext({
    actions: [],
    animations: [],
    behaviors: [PluginSpec.Behavior(HighlightLoci)],
    config: [[PluginConfig.General.PowerPreference, 'default']],
    layout: { initial: { showControls: false, isExpanded: false } },
  })
  await plugin.init()
  return plugin
}

/** The settings of the canvas for a dark or light page. software: the browser draws in software. */
export const canvasProps = (dark: boolean, software: boolean): PartialCanvas3DProps => ({
  renderer: {
    backgroundColor: Color(dark ? 0x3a424d : 0xdde3ea),
    highlightColor: Color(0xffffff),
    selectColor: Color(0xffffff),
    highlightStrength: 0.6,
  },
  camera: { helper: { axes: { name: 'off', params: {} } } },
  cameraFog: { name: 'on', params: { intensity: 20 } },
  postprocessing: {
    outline: {
      name: 'on',
      params: { scale: 1, threshold: 0.33, color: Color(dark ? 0x0b0e12 : 0x2a3340), includeTransparent: false },
    },
    occlusion: { name: 'off', params: {} },
    shadow: { name: 'off', params: {} },
    ...(software && { antialiasing: { name: 'off', params: {} } }),
  },
  ...(software && { multiSample: { mode: 'off' } }), // would draw each change several times
  trackball: { animate: { name: 'off', params: {} } },
})

/** Resolves when everything that was requested is on the canvas, or isDisposed. */
export function drawn(plugin: PluginContext, isDisposed: () => boolean): Promise<void> {
  const canvas = plugin.canvas3d
  if (!canvas) return Promise.resolve()
  return new Promise((resolve) => {
    let before = canvas.didDraw.value // the time of the last drawing before everything was there
    const check = () => {
      if (isDisposed()) return resolve()
      if (canvas.commitQueueSize.value > 0 || canvas.reprCount.value === 0) before = canvas.didDraw.value
      else if (canvas.didDraw.value !== before) return resolve()
      requestAnimationFrame(check)
    }
    requestAnimationFrame(check)
  })
}

// Mol*'s names of the shapes.
const kinds = { cartoon: 'cartoon', sticks: 'ball-and-stick', surface: 'molecular-surface' } as const

let version = 0 // makes Mol* apply a theme again whose name stays the same

// Larger structures have coarser shapes where the browser draws in software.
const maxFineResidues = 400

// The atoms of a selection are drawn up to this size.
const maxResiduesWithAtoms = 80
