import { readFileSync, statSync } from 'node:fs'
import { type Loaded, type LoadOptions, loadFile } from '../sources/file/load.ts'
import { manifestFiles } from './manifest-files.ts'
import { CLUSTER_PATH } from './read-args.ts'

/** The manifest reader is loaded with the first manifests: a starting gateway does not need it. */
let manifests: typeof import('./load-manifests.ts') | undefined

/** Must complete before configurations are loaded that may be manifests or the cluster. */
export async function prepareFor(...paths: readonly string[]): Promise<void> {
  if (paths.some(isManifests)) manifests ??= await import('./load-manifests.ts')
  if (paths.includes(CLUSTER_PATH)) await manifests?.prepareCluster(process.env)
}

/** Loads a configuration file, or a file or folder of Kubernetes manifests. */
export function loadConfiguration(path: string, options: LoadOptions): Loaded {
  if (manifests !== undefined && isManifests(path)) return manifests.loadManifests(path)
  return loadFile(path, options)
}

export function isManifests(path: string): boolean {
  if (path === CLUSTER_PATH) return true
  try {
    if (!statSync(path).isDirectory()) return looksLikeManifests(readFileSync(path, 'utf8'))
    return manifestFiles(path).some((file) => looksLikeManifests(readFileSync(file, 'utf8')))
  } catch {
    // The file reader reports the error.
    return false
  }
}

/** Whether a text contains manifests rather than a gateway configuration. */
function looksLikeManifests(text: string): boolean {
  const isYaml = /^apiVersion:\s*\S/m.test(text) && /^kind:\s*\S/m.test(text)
  return isYaml || (/^\s*"apiVersion":/m.test(text) && /^\s*"kind":/m.test(text))
}
