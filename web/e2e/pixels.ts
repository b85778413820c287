// Counts colours on the viewer's canvas by hue, which does not change with light and shade.
import type { Page } from '@playwright/test'

/** Hues in degrees of AlphaFold's four classes, and of the two sides of a region. */
export const hues = { 'very high': 217, confident: 197, low: 51, 'very low': 18, scored: 323, aligned: 262 }

/** Counts the pixels of each hue. */
export async function counted(page: Page): Promise<Record<keyof typeof hues, number>> {
  return page
    .locator('[data-viewer] canvas')
    .first()
    .evaluate((canvas: HTMLCanvasElement, wanted) => {
      const copy = document.createElement('canvas')
      copy.width = canvas.width
      copy.height = canvas.height
      const g = copy.getContext('2d')!
      g.drawImage(canvas, 0, 0)
      const { data } = g.getImageData(0, 0, copy.width, copy.height)
      const out = Object.fromEntries(Object.keys(wanted).map((k) => [k, 0]))
      for (let i = 0; i < data.length; i += 4) {
        const [r, gr, b] = [data[i]! / 255, data[i + 1]! / 255, data[i + 2]! / 255]
        const max = Math.max(r, gr, b),
          min = Math.min(r, gr, b),
          d = max - min
        if (max < 0.25 || d / max < 0.4) continue
        const hue = 60 * (max === r ? ((gr - b) / d + 6) % 6 : max === gr ? (b - r) / d + 2 : (r - gr) / d + 4)
        for (const [name, h] of Object.entries(wanted)) if (Math.abs(hue - h) < 8) out[name]!++
      }
      return out as Record<keyof typeof hues, number>
    }, hues)
}

/** Waits until the structure is on the canvas. */
export const drawn = (page: Page) => page.locator('[data-viewer][data-ready]').waitFor()
