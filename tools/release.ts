import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { compileBundle, FOOT, HEAD } from './bundle/script.ts'
import { programImage } from './image/program-image.ts'
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
const PROGRAMS: Readonly<Record<string, string>> = {
  portcullis: 'bin/portcullis.ts',
  controller: 'bin/controller.ts',
}
/** Those that must start quickly, and can be tried without a cluster. */
const WARMED = ['portcullis']
const endingsOf = (name: string) => ['.mjs', '.cjs', ...(WARMED.includes(name) ? ['.code'] : [])]

/** Image → what it starts. */
const IMAGES = {
  'portcullis-proxy': { program: 'portcullis', command: ['run'], ports: [4000, 15_020, 15_021] },
  controller: { program: 'controller', command: [], ports: [9978, 9092, 9093] },
} as const

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
  const threads = Object.keys(THREADS).map((name) => `${name}.mjs`)
  const bundles = [...Object.keys(PROGRAMS).flatMap(filesOf), ...threads]
  const papers = ['package.json', 'NOTICES.md', 'LICENSE', SBOM]
  const images = writeImages(own.version, [...threads, ...papers])
  const files = [...bundles, ...papers, 'README.md', 'CHANGELOG.md', ...images]
  writeFileSync(join(DIST, 'SHA256SUMS'), files.map(renderSum).join(''))
  for (const name of [...bundles, ...images]) console.log(`dist/${name}  ${sizeOf(name)}`)
  console.log(`${own.name} ${own.version} is in dist/`)
}

function filesOf(program: string): readonly string[] {
  return endingsOf(program).map((ending) => `${program}${ending}`)
}

function pick({ name, version, license }: Package) {
  return { name, version, license }
}

/** Archives of images, in dist/: the same that a registry would have. */
function writeImages(version: string, shared: readonly string[]): readonly string[] {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.log('no image: it is made on Linux, x64')
    return []
  }
  return Object.entries(IMAGES).map(([title, image]) => {
    const file = `${title}-${version}-linux-amd64.tar`
    const name = `${REGISTRY}/${title}:${version}`
    const files = [...filesOf(image.program), ...shared]
    writeFileSync(
      join(DIST, file),
      programImage({ ...image, name, title, version, dist: DIST, files }),
    )
    return file
  })
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
  for (const name of WARMED) warmUp(join(DIST, `${name}.cjs`))
  return [...Object.keys(metafile.inputs), ...Object.keys(beside.inputs)]
}

function warmUp(file: string): void {
  const warming = [join(ROOT, 'tools/bundle/warm-up.ts'), file]
  const { status, stderr } = spawnSync(process.execPath, warming, { timeout: 60_000 })
  if (status !== 0) throw new Error(`${file} does not run: ${stderr}`)
  // This process has the settings of V8 that a start has; without the code a start takes half longer.
  const { script } = compileBundle(file)
  if (script.cachedDataRejected !== false) throw new Error(`V8 refuses the code of ${file}`)
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
  // The controller runs in a cluster, and its name is nothing to put into everybody's path.
  const bin = { portcullis: 'portcullis.mjs' }
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
