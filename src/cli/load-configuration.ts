import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { snapshotOf } from '../controller/cluster/snapshot.ts'
import { combineModels } from '../controller/combine.ts'
import {
  looksLikeManifests,
  type Manifest,
  readManifests,
  withClasses,
} from '../controller/manifests.ts'
import { translate } from '../controller/translate/translate.ts'
import { collector } from '../diagnostics/report.ts'
import { freeze } from '../model/freeze.ts'
import { type Loaded, type LoadOptions, loadFile } from '../sources/file/load.ts'
import { defaultSettings } from '../sources/file/sections/config.ts'

const CONTROLLER_NAME = 'portcullis.dev/controller'

/** A configuration file; or manifests of Kubernetes objects, as a file or a folder of them. */
export function loadConfiguration(path: string, options: LoadOptions): Loaded {
  return isManifests(path) ? loadManifests(path) : loadFile(path, options)
}

export function isManifests(path: string): boolean {
  try {
    return statSync(path).isDirectory() || looksLikeManifests(readFileSync(path, 'utf8'))
  } catch {
    // Whoever reads it as a file says what is wrong with it.
    return false
  }
}

/** What a controller would make of them, all Gateways together. */
function loadManifests(path: string): Loaded {
  const { report, result } = collector()
  const { objects, diagnostics } = readManifests(manifestsAt(path))
  for (const diagnostic of diagnostics) report(diagnostic)
  const settings = defaultSettings()
  const snapshot = snapshotOf(withClasses(objects, CONTROLLER_NAME))
  const controllerName = CONTROLLER_NAME
  const translation = translate(snapshot, { controllerName, settings, assumesMissing: true })
  for (const diagnostic of translation.diagnostics) report(diagnostic)
  if (translation.models.size === 0) {
    report({
      code: 'PC0223',
      severity: 'warning',
      message: 'no Gateway is among the manifests: nothing is served',
      origin: { kind: 'file', file: path, line: 1, column: 1 },
      hint: 'add the Gateway that the routes and policies are for',
    })
  }
  const model = freeze(combineModels(translation.models.values()))
  return { result: result(model), settings, files: [] }
}

/** In the order of their names. */
function manifestsAt(path: string): readonly Manifest[] {
  if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, 'utf8') }]
  return globSync('**/*.{yaml,yml,json}', { cwd: path })
    .sort()
    .map((name) => {
      const file = join(path, name)
      return { file, text: readFileSync(file, 'utf8') }
    })
}
