import { globSync } from 'node:fs'
import { join } from 'node:path'

/** The files of a folder that may be manifests, sorted by name. */
export function manifestFiles(folder: string): readonly string[] {
  return globSync('**/*.{yaml,yml,json}', { cwd: folder })
    .sort()
    .map((name) => join(folder, name))
}
