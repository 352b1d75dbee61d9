import { readFileSync, statSync } from 'node:fs'
import { snapshotOf } from '../controller/cluster/snapshot.ts'
import { combineModels } from '../controller/combine.ts'
import { type Manifest, readManifests, withClasses } from '../controller/manifests.ts'
import { translate } from '../controller/translate/translate.ts'
import { collector } from '../diagnostics/report.ts'
import { freeze } from '../model/freeze.ts'
import type { Loaded } from '../sources/file/load.ts'
import { defaultSettings } from '../sources/file/sections/config.ts'
import { manifestFiles } from './manifest-files.ts'

const CONTROLLER_NAME = 'portcullis.dev/controller'

/** What a controller would make of them, all Gateways together. */
export function loadManifests(path: string): Loaded {
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

function manifestsAt(path: string): readonly Manifest[] {
  const files = statSync(path).isDirectory() ? manifestFiles(path) : [path]
  return files.map((file) => ({ file, text: readFileSync(file, 'utf8') }))
}
