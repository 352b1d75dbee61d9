import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Origin } from '../src/diagnostics/diagnostic.ts'
import { locate, type Places } from '../src/diagnostics/places.ts'
import { renderOrigin, renderTerminal } from '../src/diagnostics/render.ts'
import type { Model } from '../src/model/model.ts'
import { loadText } from '../src/sources/file/load.ts'
import { defaultSettings } from '../src/sources/file/sections/config.ts'
import type { Generator } from './generated.ts'
import { withRuleOrigins } from './rule-origins.ts'

const DEFAULTS = JSON.stringify(defaultSettings())

export const CASES = 'test/config'

/** Environment variables that the files of the cases may reference. */
const ENVIRONMENT = { HOST: 'orders', PORT: '4000', ADDRESS: 'orders:4001', EMPTY: '' }

/** Generates the Model (`.model.json`) and the diagnostics (`.diagnostics.txt`) in test/config. */
export const configCases: Generator = {
  name: 'configuration cases',
  folders: [],
  generate: (root) =>
    new Map(
      globSync(`${CASES}/*.in.{yaml,json}`, { cwd: root })
        .sort()
        .flatMap((path) => outputsOf(root, path)),
    ),
}

function outputsOf(root: string, path: string): readonly (readonly [string, string])[] {
  const text = readFileSync(join(root, path), 'utf8')
  const shownAs = basename(path)
  const { result, settings, places } = loadText(text, join(root, path), {
    shownAs,
    environment: ENVIRONMENT,
  })
  const stem = path.replaceAll('\\', '/').replace(/\.in\.(yaml|json)$/, '')
  // Removes paths of this machine.
  const plain = (output: string) =>
    output
      .replaceAll(join(root, CASES), '/config')
      .replaceAll(`${process.cwd()}/`, '/working-directory/')
  const outputs: (readonly [string, string])[] = []
  if (result.diagnostics.length > 0) {
    outputs.push([`${stem}.diagnostics.txt`, `${plain(renderTerminal(result.diagnostics))}\n`])
  }
  if (result.value !== undefined) {
    const whole = { settings, ...(withRuleOrigins(result.value) as Model) }
    const model = JSON.stringify(whole, (key, value) => leaveOut(places, key, value), 2)
    outputs.push([`${stem}.model.json`, `${plain(model)}\n`])
  }
  return outputs
}

/** Omits messages, which are in the other file, and settings that equal the defaults. */
function leaveOut(places: Places, key: string, value: unknown): unknown {
  if (key === 'settings' && JSON.stringify(value) === DEFAULTS) return '(defaults)'
  if (key === 'diagnostics') return (value as readonly { code: string }[]).map(({ code }) => code)
  if (key === 'origin') {
    const place = locate(places, value as Origin)
    return place.kind === 'file' ? `${place.line}:${place.column}` : renderOrigin(place)
  }
  return value
}
