// The viewer draws a structure or a trajectory. It alone knows Mol*: everything that goes in or comes out is a chain's name
// and a residue's number. It is loaded when it is needed, since Mol* is far larger than the rest of the page.

import { PLDDTConfidenceColorThemeProvider } from 'molstar/lib/extensions/model-archive/quality-assessment/color/plddt.js'
import { QualityAssessmentProvider } from 'molstar/lib/extensions/model-archive/quality-assessment/prop.js'
import { OrderedSet, SortedArray } from 'molstar/lib/mol-data/int.js'
import { Vec2 } from 'molstar/lib/mol-math/linear-algebra.js'
import type { Location } from 'molstar/lib/mol-model/location.js'
import { Bond, Structure, StructureElement, StructureProperties, Unit } from 'molstar/lib/mol-model/structure.js'
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
import { chainColour, none, type RGB, smooth, toHex } from '../plots/colour'
import type { Colour, Residue, Stretch } from '../store'

/** Paint colours some residues over whatever else they are coloured by. */
export interface Paint {
  stretches: Stretch[]
  rgb: RGB
}

/** Source is what to draw: a structure's text, or a topology and the bytes of its frames, and how far from its middle the molecule gets (Å). */
export type Source =
  | { format: 'mmcif' | 'pdb'; text: string }
  | { topology: string; frames: Uint8Array<ArrayBuffer>; reach: number }

export interface Options {
  dark: boolean
  colour: Colour
  onHover(at: Residue | null): void
  onPick(at: Residue | null, extend: boolean): void
}

/** NoWebGL says that this browser cannot draw in three dimensions. */
export class NoWebGL extends Error {
  override name = 'NoWebGL'
}

/** Shape is how polymers are drawn. */
export type Shape = 'cartoon' | 'sticks' | 'surface'

// Whether the browser has WebGL at all, and whether a processor stands in for the graphics card.
function graphics(): { there: boolean; slow: boolean } {
  const gl = document.createElement('canvas').getContext('webgl2')
  const name = gl?.getExtension('WEBGL_debug_renderer_info') ? String(gl.getParameter(37446)) : '' // UNMASKED_RENDERER_WEBGL
  gl?.getExtension('WEBGL_lose_context')?.loseContext()
  return { there: gl !== null, slow: /swiftshader|llvmpipe|softpipe|software/i.test(name) }
}

type Selector = StateObjectSelector<PluginStateObject.Molecule.Structure>
type Drawn = StateObjectSelector<PluginStateObject.Molecule.Structure.Representation3D>

export class Viewer {
  frames = 1
  private model?: StateObjectSelector<PluginStateObject.Molecule.Model>
  private structure?: Selector
  private shapes: Drawn[] = []
  private polymer?: Drawn
  private kind: Shape = 'cartoon'
  private overpaints: string[] = []
  private sticks?: Selector
  private colour: Colour
  private reach = 0
  private values = new Map<string, number>()
  private range: [number, number] = [0, 1]
  private paints: Paint[] = []
  private turn: Promise<unknown> = Promise.resolve() // the state takes one change at a time
  private wanted = -1 // the frame asked for last
  private gone = false
  private readonly ended = new AbortController()

  private constructor(
    private readonly plugin: PluginContext,
    private readonly host: HTMLElement,
    private readonly options: Options,
    private readonly slow: boolean,
  ) {
    this.colour = options.colour
  }

  /** open makes a viewer that fills the host, which must have a size and position. It fails with NoWebGL. */
  static async open(host: HTMLElement, options: Options): Promise<Viewer> {
    const { there, slow } = graphics()
    if (!there) throw new NoWebGL('This browser offers no WebGL, so the structure cannot be drawn.')
    const plugin = new PluginContext({
      actions: [],
      animations: [],
      behaviors: [PluginSpec.Behavior(HighlightLoci)],
      config: [[PluginConfig.General.PowerPreference, 'default']],
      layout: { initial: { showControls: false, isExpanded: false } },
    })
    await plugin.init()
    plugin.customModelProperties.register(QualityAssessmentProvider, true)
    const themes = plugin.representation.structure.themes.colorThemeRegistry
    themes.add(PLDDTConfidenceColorThemeProvider)
    const viewer = new Viewer(plugin, host, options, slow)
    themes.add(
      viewer.theme('pleat-smooth', (at) => {
        const v = plddt(at)
        return v === undefined ? none : smooth(v / 100)
      }),
    )
    themes.add(
      viewer.theme('pleat-values', (at) => {
        const v = viewer.values.get(key(placeOf(at)))
        return v === undefined ? none : smooth((v - viewer.range[0]) / (viewer.range[1] - viewer.range[0] || 1))
      }),
    )
    const chains = new Map<string, number>()
    themes.add(
      viewer.theme('pleat-chain', (at) => {
        const id = placeOf(at).chain
        if (!chains.has(id)) chains.set(id, chains.size)
        return chainColour(chains.get(id)!)
      }),
    )
    if (!(await plugin.mountAsync(host))) {
      plugin.dispose()
      throw new NoWebGL('The graphics of this browser could not be started.')
    }
    viewer.light(options.dark)
    viewer.listen()
    return viewer
  }

  /** load draws a source instead of what was there. */
  load(source: Source): Promise<void> {
    return this.queue(async () => {
      delete this.host.dataset.ready
      const { plugin } = this
      await plugin.clear()
      this.shapes = []
      this.overpaints = []
      this.sticks = undefined
      this.wanted = -1
      this.reach = 'topology' in source ? source.reach : 0
      const trajectory = 'text' in source ? await this.parse(source) : await this.join(source)
      this.frames = trajectory.obj?.data.frameCount ?? 1
      this.model = await plugin.builders.structure.createModel(trajectory)
      this.structure = await plugin.builders.structure.createStructure(this.model)
      await this.represent('topology' in source)
      await this.repaint()
      performance.mark('pleat:structure') // what comes now is the graphics card's
      this.fit(0)
      await this.drawn()
      this.host.dataset.ready = 'true'
    })
  }

  private async parse(source: { format: 'mmcif' | 'pdb'; text: string }) {
    const data = await this.plugin.builders.data.rawData({ data: source.text })
    return this.plugin.builders.structure.parseTrajectory(data, source.format)
  }

  private async join(source: { topology: string; frames: Uint8Array<ArrayBuffer> }) {
    const { plugin } = this
    const topology = await this.parse({ format: 'pdb', text: source.topology })
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

  // Polymers are cartoons, everything else is balls and sticks. A trajectory of beads has no atoms to make sticks of.
  private async represent(beads: boolean) {
    const { builders } = this.plugin
    const color = this.themeName() as 'uniform'
    const polymer = await builders.structure.tryCreateComponentStatic(this.structure!, 'polymer')
    this.polymer = undefined
    if (polymer) {
      this.polymer = await builders.structure.representation.addRepresentation(polymer, {
        type: kinds[beads ? 'cartoon' : this.kind],
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

  /** shape changes how polymers are drawn. */
  shape(kind: Shape): Promise<void> {
    return this.queue(async () => {
      if (kind === this.kind || !this.polymer) return
      this.kind = kind
      const type = this.plugin.representation.structure.registry.get(kinds[kind])
      const params = type.getParams(this.plugin.representation.structure.themes, this.structure!.obj!.data)
      await this.plugin
        .build()
        .to(this.polymer)
        .update((old) => ({ ...old, type: { name: kinds[kind], params: ParamDefinition.getDefaultValues(params) } }))
        .commit()
    })
  }

  /** colours changes what the colours mean. Values are by chain and residue and belong to the mode rmsf. */
  colours(mode: Colour, values?: { at: Residue; value: number }[]): Promise<void> {
    return this.queue(async () => {
      this.colour = mode
      if (values) {
        this.values = new Map(values.map((v) => [key(v.at), v.value]))
        const all = values.map((v) => v.value)
        this.range = [Math.min(...all), Math.max(...all)]
      }
      const build = this.plugin.build()
      const mine = this.themeName().startsWith('pleat-') // of the others Mol* knows the parameters itself
      for (const shape of this.shapes) {
        build.to(shape).update((old) => ({
          ...old,
          colorTheme: { name: this.themeName(), params: mine ? { version: ++version } : {} },
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
      case 'chain':
        return 'pleat-chain'
      case 'secondary':
        return 'secondary-structure'
      case 'type':
        return 'residue-name'
      case 'rmsf':
        return 'pleat-values'
    }
  }

  /** paint colours stretches until the next call, and shows the atoms of few residues when it is told to. */
  paint(paints: Paint[], atoms: boolean): Promise<void> {
    this.paints = paints
    return this.queue(async () => {
      await this.repaint()
      await this.showAtoms(atoms ? paints.flatMap((p) => p.stretches) : [])
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
      const part = Overpaint.filter(whole, shape.obj!.data.sourceData) // of the polymers, or of the ligands
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
    if (stretches.reduce((n, s) => n + s.to - s.from + 1, 0) > 80) return
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

  /** highlight marks residues, as hovering over it does. */
  highlight(at: Residue[]): void {
    const structure = this.structure?.obj?.data
    if (this.gone || !structure) return
    const loci = lociOf(
      structure,
      at.map((r) => ({ chain: r.chain, from: r.residue, to: r.residue })),
    )
    this.plugin.managers.interactivity.lociHighlights.highlightOnly({ loci })
  }

  /** focus turns the camera to some residues; to none: to everything. */
  focus(stretches: Stretch[]): void {
    const structure = this.structure?.obj?.data
    if (this.gone || !structure) return
    const loci = lociOf(structure, stretches)
    const durationMs = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 250
    if (loci.elements.length === 0) this.fit(durationMs)
    else this.plugin.managers.camera.focusLoci(loci, { durationMs, minRadius: 8, extraRadius: 4 })
  }

  // Shows everything, its broad side to the front. A chain that moves freely grows out of the place it began in.
  private fit(durationMs: number) {
    const canvas = this.plugin.canvas3d
    const structure = this.structure?.obj?.data
    if (!canvas || !structure) return
    const { center, radius } = structure.boundary.sphere
    const focus = canvas.camera.getFocus(center, Math.max(radius, this.reach * 1.3) + 1) // the middle of the sphere is not that of the mass
    const { rotation } = structureLayingTransform([structure])
    canvas.requestCameraReset({
      snapshot: changeCameraRotation({ ...canvas.camera.getSnapshot(), ...focus }, rotation),
      durationMs,
    })
  }

  /** frame shows one frame of a trajectory, from 0. Of several calls while one is drawn, the last counts. */
  frame(i: number): Promise<void> {
    this.wanted = Math.max(0, Math.min(this.frames - 1, i))
    const mine = this.wanted
    return this.queue(async () => {
      if (mine !== this.wanted || !this.model) return
      await this.plugin
        .build()
        .to(this.model)
        .update(StateTransforms.Model.ModelFromTrajectory, () => ({ modelIndex: mine }))
        .commit()
      this.host.dataset.frame = String(mine)
    })
  }

  /** light sets the ground that the structure stands on. */
  light(dark: boolean): void {
    this.plugin.canvas3d?.setProps({
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
        ...(this.slow && { antialiasing: { name: 'off', params: {} } }),
      },
      ...(this.slow && { multiSample: { mode: 'off' } }), // else each change is drawn several times over
      trackball: { animate: { name: 'off', params: {} } },
    })
  }

  /** picture saves what is seen as a PNG file. */
  async picture(name: string): Promise<void> {
    await this.plugin.helpers.viewportScreenshot?.download(name)
  }

  dispose(): void {
    this.gone = true
    this.ended.abort()
    this.plugin.dispose()
    delete this.host.dataset.ready
    delete this.host.dataset.frame
  }

  private listen() {
    const { behaviors } = this.plugin
    let last = ''
    const over = (at: Residue | null) => {
      const now = at ? key(at) : ''
      if (now === last) return
      last = now
      this.options.onHover(at)
    }
    if (this.slow) this.feel(over)
    else behaviors.interaction.hover.subscribe(({ current }) => over(lociPlace(current.loci)))
    behaviors.interaction.click.subscribe(({ current, modifiers, button }) => {
      if (button === 1)
        this.options.onPick(lociPlace(current.loci), modifiers.shift || modifiers.control || modifiers.meta)
    })
  }

  // What is under the pointer, where a processor draws: Mol* looks in the background and gives up after five frames, which is too
  // soon there. So it is asked outright, once the pointer rests.
  private feel(over: (at: Residue | null) => void) {
    let timer: ReturnType<typeof setTimeout> | undefined
    this.host.addEventListener(
      'pointermove',
      (e) => {
        clearTimeout(timer)
        if (e.buttons !== 0) return
        const box = this.host.getBoundingClientRect()
        let tries = 0
        const look = () => {
          const canvas = this.plugin.canvas3d
          if (this.gone || !canvas) return
          const found = canvas.identify(Vec2.create(e.clientX - box.left, e.clientY - box.top))
          over(found ? lociPlace(canvas.getLoci(found.id).loci) : null)
          if (!found && ++tries < 12) timer = setTimeout(look, 100) // as long as Mol* itself looks, there is nothing to be found
        }
        timer = setTimeout(look, 60)
      },
      { signal: this.ended.signal },
    )
    this.host.addEventListener(
      'pointerleave',
      () => {
        clearTimeout(timer)
        over(null)
      },
      { signal: this.ended.signal },
    )
  }

  private queue<T>(act: () => Promise<T>): Promise<T | void> & Promise<void> {
    const next = this.turn.then(async () => {
      if (!this.gone) await act()
    })
    this.turn = next.catch(() => undefined)
    return next
  }

  // Resolves once everything that was asked for is on the canvas.
  private drawn(): Promise<void> {
    const canvas = this.plugin.canvas3d
    if (!canvas) return Promise.resolve()
    return new Promise((resolve) => {
      let before: number | undefined // when it was drawn last before everything was there
      const look = () => {
        if (this.gone) return resolve()
        if (before === undefined && canvas.commitQueueSize.value === 0 && canvas.reprCount.value > 0) {
          before = canvas.didDraw.value
          canvas.requestDraw()
        } else if (before !== undefined && canvas.didDraw.value !== before) return resolve()
        requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    })
  }

  // theme makes a colour theme of a function from a residue to its colour.
  private theme(name: string, of: (at: StructureElement.Location) => RGB): ColorTheme.Provider<{}, string> {
    const at = StructureElement.Location.create(undefined as unknown as Structure)
    const color = (location: Location): Color => {
      if (StructureElement.Location.is(location)) return Color(toHex(of(location)))
      if (Bond.isLocation(location)) {
        at.structure = location.aStructure
        at.unit = location.aUnit
        at.element = location.aUnit.elements[location.aIndex]!
        return Color(toHex(of(at)))
      }
      return Color(toHex(none))
    }
    const factory = (_: ThemeDataContext, props: {}) => ({
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
    } as unknown as ColorTheme.Provider<{}, string>
  }
}

const kinds = { cartoon: 'cartoon', sticks: 'ball-and-stick', surface: 'molecular-surface' } as const

let version = 0 // two themes of one name are told apart by it

const key = (p: Residue) => p.chain + '|' + p.residue

function placeOf(at: StructureElement.Location): Residue {
  return { chain: StructureProperties.chain.auth_asym_id(at), residue: StructureProperties.residue.auth_seq_id(at) }
}

function lociPlace(loci: unknown): Residue | null {
  const l = loci as { kind?: string }
  const element = l.kind === 'bond-loci' ? Bond.toFirstStructureElementLoci(loci as Bond.Loci) : loci
  if (!StructureElement.Loci.is(element)) return null
  const first = StructureElement.Loci.getFirstLocation(element)
  return first ? placeOf(first) : null
}

function plddt(at: StructureElement.Location): number | undefined {
  if (!Unit.isAtomic(at.unit)) return undefined
  const residue = at.unit.model.atomicHierarchy.residueAtomSegments.index[at.element]!
  const v =
    QualityAssessmentProvider.get(at.unit.model).value?.pLDDT?.get(residue) ??
    at.unit.model.atomicConformation.B_iso_or_equiv.value(at.element)
  return v < 0 ? undefined : v
}

function lociOf(structure: Structure, stretches: Stretch[]): StructureElement.Loci {
  const elements: { unit: Unit; indices: OrderedSet<StructureElement.UnitIndex> }[] = []
  const at = StructureElement.Location.create(structure)
  for (const unit of structure.units) {
    if (!Unit.isAtomic(unit)) continue
    at.unit = unit
    const found: number[] = []
    let residue = -1
    let inside = false
    for (let i = 0; i < unit.elements.length; i++) {
      at.element = unit.elements[i]!
      const r = unit.residueIndex[at.element]!
      if (r !== residue) {
        residue = r
        const p = placeOf(at)
        inside = stretches.some((s) => s.chain === p.chain && p.residue >= s.from && p.residue <= s.to)
      }
      if (inside) found.push(i)
    }
    if (found.length > 0)
      elements.push({
        unit,
        indices: SortedArray.ofSortedArray(found) as unknown as OrderedSet<StructureElement.UnitIndex>,
      })
  }
  return StructureElement.Loci(structure, elements)
}
