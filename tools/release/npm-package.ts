import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TarEntry, writeTar } from '../image/tar.ts'
import { gzip } from './gzip.ts'
import { PLATFORMS } from './platforms.ts'

export interface PackageFacts {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  /** The version of Node that the release runs on, as npm packages. */
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** The published package.json: Node 20 or later starts the package, which includes its own Node. */
export function renderPackage({ name, version, description, license, ...rest }: PackageFacts) {
  const { optionalDependencies: all } = rest
  const nodes = PLATFORMS.map(({ package: node }) => [node, all[node]] as const)
  const text = {
    name,
    version,
    description,
    license,
    keywords: ['gateway', 'proxy', 'authorization', 'cel', 'llm', 'mcp'],
    type: 'module',
    // The controller runs in clusters, and its generic name does not belong in users' PATH.
    bin: { portcullis: 'launch.js' },
    man: ['portcullis.1'],
    engines: { node: '>=20' },
    optionalDependencies: Object.fromEntries(nodes),
  }
  return `${JSON.stringify(text, undefined, 2)}\n`
}

/** Writes an archive for `npm install`; `files` are names in `folder`. */
export function writeNpmPackage(folder: string, files: readonly string[]): Buffer {
  const entries = files.map((file): TarEntry => {
    const mode = file === 'launch.js' ? 0o755 : 0o644
    return { kind: 'file', path: `package/${file}`, bytes: readFileSync(join(folder, file)), mode }
  })
  return gzip(writeTar(entries))
}
