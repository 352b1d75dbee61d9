import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { FOOT, HEAD } from './bundle/script.ts'
import { proxyImage } from './image/proxy-image.ts'
import { renderNotices } from './notices.ts'
import { renderSbom } from './sbom.ts'

/**
 * `npm run release`: dist/ as it is published: the programs, what is in them, and an image where
 * the machine is one that images are made for. Of each program there is `.cjs`, all of its text;
 * `.code`, what V8 made of that text, for a quick start with the same Node; and `.mjs`, which
 * starts it. The same sources give the same bytes but in `.code`, so that checksums can be
 * compared with a build of one's own: without that file the programs only start later.
 */
const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')

/** Program → its entry point. */
const PROGRAMS: Readonly<Record<string, string>> = { portcullis: 'bin/portcullis.ts' }
const ENDINGS = ['.mjs', '.cjs', '.code']

/** What programs start as threads: a file beside them, which nobody runs by name. */
const THREADS: Readonly<Record<string, string>> = {
  'password-worker': 'src/policies/basic-auth/password-worker.ts',
}

const SBOM = 'portcullis.cdx.json'
/** Where images are published; the charts say the same. */
const REGISTRY = 'ghcr.io/portcullis-dev'

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
  const inputs = await bundle()
  writeFileSync(join(DIST, 'package.json'), renderPackage(own))
  writeFileSync(join(DIST, 'NOTICES.md'), renderNotices(ROOT, inputs))
  writeFileSync(join(DIST, SBOM), renderSbom(ROOT, pick(own), inputs))
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md']) {
    copyFileSync(join(ROOT, file), join(DIST, file))
  }
  const programs = Object.keys(PROGRAMS).flatMap((name) => ENDINGS.map((end) => `${name}${end}`))
  const bundles = [...programs, ...Object.keys(THREADS).map((name) => `${name}.mjs`)]
  const papers = ['package.json', 'NOTICES.md', 'LICENSE', SBOM]
  const images = writeImages(own.version, [...bundles, ...papers])
  const files = [...bundles, ...papers, 'README.md', 'CHANGELOG.md', ...images]
  writeFileSync(join(DIST, 'SHA256SUMS'), files.map(renderSum).join(''))
  for (const name of [...bundles, ...images]) console.log(`dist/${name}  ${sizeOf(name)}`)
  console.log(`${own.name} ${own.version} is in dist/`)
}

function pick({ name, version, license }: Package) {
  return { name, version, license }
}

/** Archives of images, in dist/: the same that a registry would have. */
function writeImages(version: string, files: readonly string[]): readonly string[] {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.log('no image: it is made on Linux, x64')
    return []
  }
  const file = `portcullis-proxy-${version}-linux-amd64.tar`
  const name = `${REGISTRY}/portcullis-proxy:${version}`
  writeFileSync(join(DIST, file), proxyImage({ name, version, dist: DIST, files }))
  return [file]
}

/** The files that went into it. */
async function bundle(): Promise<readonly string[]> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: PROGRAMS,
    outExtension: { '.js': '.cjs' },
    // Not as a module: an import of node:http and its like evaluates all that they have.
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname', 'import.meta.url': '__url' },
    banner: { js: HEAD },
    footer: { js: FOOT },
    metafile: true,
  })
  const starts = Object.keys(PROGRAMS).map((name) => [name, 'tools/bundle/start.ts'])
  const { metafile: beside } = await build({
    ...COMMON,
    entryPoints: { ...Object.fromEntries(starts), ...THREADS },
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    metafile: true,
    // Packages written as CommonJS call require for what Node has built in.
    banner: {
      js: "import { createRequire as __requireOf } from 'node:module'; const require = __requireOf(import.meta.url);",
    },
  })
  for (const name of Object.keys(PROGRAMS)) warmUp(join(DIST, `${name}.cjs`))
  return [...Object.keys(metafile.inputs), ...Object.keys(beside.inputs)]
}

function warmUp(file: string): void {
  const warming = [join(ROOT, 'tools/bundle/warm-up.ts'), file]
  const { status, stderr } = spawnSync(process.execPath, warming, { timeout: 60_000 })
  if (status !== 0) throw new Error(`${file} does not run: ${stderr}`)
}

const COMMON = {
  absWorkingDir: ROOT,
  outdir: DIST,
  bundle: true,
  platform: 'node',
  target: 'node26',
  // One byte for each character, also in memory.
  charset: 'ascii',
  // Not minified: a stack trace that a user sends can be read without a map.
  legalComments: 'none',
  logLevel: 'warning',
} as const

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
