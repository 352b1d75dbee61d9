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
  /** The version of Node that it runs on, as npm packages. */
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** package.json as it is published: any Node from 20 on starts it, and it brings its own. */
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
    // The controller runs in a cluster, and its name is nothing to put into everybody's path.
    bin: { portcullis: 'launch.js' },
    man: ['portcullis.1'],
    engines: { node: '>=20' },
    optionalDependencies: Object.fromEntries(nodes),
  }
  return `${JSON.stringify(text, undefined, 2)}\n`
}

/** What `npm install` takes; `files` are those of `folder`, by name. */
export function writeNpmPackage(folder: string, files: readonly string[]): Buffer {
  const entries = files.map((file): TarEntry => {
    const mode = file === 'launch.js' ? 0o755 : 0o644
    return { kind: 'file', path: `package/${file}`, bytes: readFileSync(join(folder, file)), mode }
  })
  return gzip(writeTar(entries))
}
