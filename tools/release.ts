import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { renderNotices } from './notices.ts'

/**
 * `npm run release`: dist/ as it is published, one self-contained file for each entry point. The
 * same sources give the same bytes, so that a checksum can be compared with a build of one's own.
 */
const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')

/** Program → its entry point. */
const PROGRAMS: Readonly<Record<string, string>> = { portcullis: 'bin/portcullis.ts' }

/** What programs start as threads: a file beside them, which nobody runs by name. */
const THREADS: Readonly<Record<string, string>> = {
  'password-worker': 'src/policies/basic-auth/password-worker.ts',
}

interface Package {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
}

async function release(): Promise<void> {
  const missing = Object.values(PROGRAMS).filter((entry) => !existsSync(join(ROOT, entry)))
  if (missing.length > 0) {
    console.error(`nothing to release: ${missing.join(', ')} is not there`)
    process.exitCode = 1
    return
  }
  const own: Package = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  rmSync(DIST, { recursive: true, force: true })
  mkdirSync(DIST)
  const metafile = await bundle()
  writeFileSync(join(DIST, 'package.json'), renderPackage(own))
  writeFileSync(join(DIST, 'NOTICES.md'), renderNotices(ROOT, Object.keys(metafile.inputs)))
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md']) {
    copyFileSync(join(ROOT, file), join(DIST, file))
  }
  const bundles = Object.keys({ ...PROGRAMS, ...THREADS }).map((name) => `${name}.mjs`)
  const files = [...bundles, 'package.json', 'NOTICES.md', 'LICENSE', 'README.md', 'CHANGELOG.md']
  writeFileSync(join(DIST, 'SHA256SUMS'), files.map(renderSum).join(''))
  for (const name of bundles) console.log(`dist/${name}  ${sizeOf(name)}`)
  console.log(`${own.name} ${own.version} is in dist/`)
}

async function bundle(): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { ...PROGRAMS, ...THREADS },
    outdir: DIST,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    // Not minified: a stack trace that a user sends can be read without a map.
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // Packages written as CommonJS call require for what Node has built in.
    banner: {
      js: "import { createRequire as __requireOf } from 'node:module'; const require = __requireOf(import.meta.url);",
    },
  })
  return metafile
}

function renderPackage({ name, version, description, license }: Package): string {
  const bin = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, `${name}.mjs`]))
  const text = {
    name,
    version,
    description,
    license,
    type: 'module',
    bin,
    engines: { node: '>=26' },
  }
  return `${JSON.stringify(text, undefined, 2)}\n`
}

function renderSum(name: string): string {
  const digest = createHash('sha256').update(readFileSync(join(DIST, name)))
  return `${digest.digest('hex')}  ${name}\n`
}

function sizeOf(name: string): string {
  return `${(readFileSync(join(DIST, name)).length / 1024).toFixed(0)} KiB`
}

await release()
