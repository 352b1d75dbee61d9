import { readFileSync, statSync } from 'node:fs'
import { HttpsKubeClient } from '../controller/cluster/client.ts'
import { findCredentials } from '../controller/cluster/credentials.ts'
import type { KubeObject } from '../controller/cluster/object.ts'
import { type ClusterObjects, readCluster } from '../controller/cluster/read-cluster.ts'
import { snapshotOf } from '../controller/cluster/snapshot.ts'
import { combineModels } from '../controller/combine.ts'
import { type Manifest, readManifests, withClasses } from '../controller/manifests.ts'
import { translate } from '../controller/translate/translate.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { NO_PLACES } from '../diagnostics/places.ts'
import { collector } from '../diagnostics/report.ts'
import { sentenceOf } from '../diagnostics/system-error.ts'
import { freeze } from '../model/freeze.ts'
import type { Loaded } from '../sources/file/load.ts'
import { defaultSettings } from '../sources/file/sections/config.ts'
import { InputError } from './define.ts'
import { manifestFiles } from './manifest-files.ts'
import { CLUSTER_PATH, nameOf } from './read-args.ts'

const CONTROLLER_NAME = 'portcullis.dev/controller'

let cluster: ClusterObjects | undefined

/** Reads the current state of the cluster in the kubeconfig. */
export async function prepareCluster(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  try {
    const client = new HttpsKubeClient(findCredentials(environment))
    cluster = await readCluster(client)
    client.close()
  } catch (error) {
    throw new InputError(`cannot read the cluster: ${whyUnread(error)}`)
  }
}

function whyUnread(error: unknown): string {
  const { path, address, port } = error as Readonly<Record<'path' | 'address' | 'port', unknown>>
  const at = path ?? (address === undefined ? undefined : `${address}:${port}`)
  return at === undefined ? sentenceOf(error) : `${at}: ${sentenceOf(error)}`
}

/** Translates manifests as a controller would, with all Gateways combined. */
export function loadManifests(path: string): Loaded {
  const { report, result } = collector()
  const settings = defaultSettings()
  const controllerName = CONTROLLER_NAME
  const { objects, assumesMissing } = path === CLUSTER_PATH ? ofCluster() : ofFiles(path, report)
  const translation = translate(snapshotOf(objects), { controllerName, settings, assumesMissing })
  for (const diagnostic of translation.diagnostics) report(diagnostic)
  if (translation.models.size === 0) {
    report({
      code: 'PC0223',
      severity: 'warning',
      message: 'the manifests contain no Gateway: nothing is served',
      origin: { kind: 'file', file: nameOf(path), line: 1, column: 1 },
      hint: 'add the Gateway that the routes and policies attach to',
    })
  }
  const model = freeze(combineModels(translation.models.values()))
  return { result: result(model), settings, files: [], places: NO_PLACES }
}

interface Objects {
  readonly objects: readonly KubeObject[]
  /** Referenced objects may exist elsewhere. */
  readonly assumesMissing: boolean
}

/** Objects of kinds that may not be listed are unknown: they may exist. */
function ofCluster(): Objects {
  const { objects = [], forbidden = [] } = cluster ?? {}
  return { objects, assumesMissing: forbidden.length > 0 }
}

function ofFiles(path: string, report: (diagnostic: Diagnostic) => void): Objects {
  const { objects, diagnostics } = readManifests(manifestsAt(path))
  for (const diagnostic of diagnostics) report(diagnostic)
  return { objects: withClasses(objects, CONTROLLER_NAME), assumesMissing: true }
}

function manifestsAt(path: string): readonly Manifest[] {
  const files = statSync(path).isDirectory() ? manifestFiles(path) : [path]
  return files.map((file) => ({ file, text: readFileSync(file, 'utf8') }))
}
