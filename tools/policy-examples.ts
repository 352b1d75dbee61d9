import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../src/policies')

/** The example configuration next to the schema of a policy, if there is one. */
export function exampleOf(kind: string): string | undefined {
  const path = join(FOLDER, folderOf(kind), 'example.yaml')
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** `backendTLS` → `backend-tls`. */
export function folderOf(kind: string): string {
  return kind.replaceAll(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)
}
