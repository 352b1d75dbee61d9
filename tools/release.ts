import { createHash } from 'node:crypto'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { arm64Libraries, hostLibraries, type Library } from './image/libraries.ts'
import { nodeFiles } from './image/node-files.ts'
import { type BuiltImage, type ImageCpu, imageArchive, indexArchive } from './image/oci.ts'
import { programImage } from './image/program-image.ts'
import { renderNotices } from './notices.ts'
import { chartPackages } from './release/chart-packages.ts'
import { renderCompletions, renderManual } from './release/manual.ts'
import { type PackageFacts, renderPackage, writeNpmPackage } from './release/npm-package.ts'
import { hostPlatform, nodeFor, PLATFORMS, type Platform } from './release/platforms.ts'
import { filesOf, PROGRAMS, programFiles, THREADS, writePrograms } from './release/programs.ts'
import { writeSingleFile } from './release/single-file.ts'
import { renderSbom } from './sbom.ts'
import { packSite } from './site/pack-site.ts'
import { buildUi } from './ui/build-ui.ts'

/**
 * `npm run release` builds dist/ as it is published. Without `--all` (`npm run images`) it builds
 * the programs and images of this platform only, which is what a cluster needs; `--platforms` builds everything
 * except the documentation site for the given platforms. The same sources produce the same bytes
 * (`test/release`). `--dist` sets the output folder.
 */
const ROOT = join(import.meta.dirname, '..')
const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean' },
    platforms: { type: 'string' },
    dist: { type: 'string' },
  },
})
const DIST = options.dist ?? join(ROOT, 'dist')

/** Image → the program that it starts. */
const IMAGES = {
  'portcullis-proxy': { program: 'portcullis', command: ['run'], ports: [4000, 15_020, 15_021] },
  controller: { program: 'controller', command: [], ports: [9978, 9092, 9093] },
} as const
const CPUS: Readonly<Record<Platform['cpu'], ImageCpu>> = { x64: 'amd64', arm64: 'arm64' }

const SBOM = 'portcullis.cdx.json'
const PAPERS = ['package.json', 'NOTICES.md', 'LICENSE', SBOM]
const OWN_FILES = programFiles(ROOT)
/** The registry of published images; must match the charts. */
const REGISTRY = 'ghcr.io/portcullis-dev'

async function release(): Promise<void> {
  const platforms = wantedPlatforms()
  const isWhole = options.all === true || options.platforms !== undefined
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as PackageFacts
  rmSync(DIST, { recursive: true, force: true })
  mkdirSync(DIST, { recursive: true })
  const programInputs = await writePrograms(ROOT, DIST)
  const inputs = [...programInputs, ...(await buildUi(join(DIST, 'ui')))]
  const ui = globSync('ui/**/*.*', { cwd: DIST }).sort()
  const libraries = new Map(platforms.flatMap(librariesFor))
  write('package.json', renderPackage(own))
  write('NOTICES.md', renderNotices(ROOT, inputs))
  write(SBOM, renderSbom(ROOT, pick(own), inputs, [...libraries].flatMap(systemPackages)))
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md', ...OWN_FILES]) {
    mkdirSync(dirname(join(DIST, file)), { recursive: true })
    copyFileSync(join(ROOT, file), join(DIST, file))
  }
  const manual = isWhole ? writeManual(own.version) : []
  const threads = Object.keys(THREADS).map((name) => `${name}.mjs`)
  const inside = [...filesOf('portcullis'), ...threads, ...ui, ...OWN_FILES, ...PAPERS]
  const docs = `${own.name}-docs-${own.version}`
  const artefacts = [
    ...(options.all === true ? [write(`${docs}.tgz`, await packSite(docs))] : []),
    ...writeImages(own.version, libraries, [...threads, ...ui, ...OWN_FILES, ...PAPERS]),
    ...(isWhole ? writeSingleFiles(own.version, platforms) : []),
    ...(isWhole ? writePackages(own, [...inside, 'launch.js', 'README.md', ...manual]) : []),
    ...manual,
  ]
  const programs = [...Object.keys(PROGRAMS).flatMap(filesOf), ...threads]
  const files = [...programs, ...ui, ...PAPERS, 'README.md', 'CHANGELOG.md', ...artefacts]
  write('SHA256SUMS', files.map(renderSum).join(''))
  for (const name of [...programs, ...artefacts]) console.log(`dist/${name}  ${sizeOf(name)}`)
  console.log(`${own.name} ${own.version} is in ${DIST}`)
}

function wantedPlatforms(): readonly Platform[] {
  const host = hostPlatform()
  if (options.platforms === undefined) {
    return options.all === true ? PLATFORMS : host === undefined ? [] : [host]
  }
  return options.platforms.split(',').map((name) => {
    const found = PLATFORMS.find((one) => one.name === name)
    if (found === undefined) {
      throw new Error(`unknown platform ${name}; available: ${PLATFORMS.map((one) => one.name)}`)
    }
    return found
  })
}

/** Libraries come from Debian: from this machine, or from the arm64 packages. */
function librariesFor(platform: Platform): readonly [Platform, readonly Library[]][] {
  if (platform.os !== 'linux' || process.platform !== 'linux') return []
  if (platform === hostPlatform()) return [[platform, hostLibraries(nodeFor(ROOT, platform))]]
  return platform.cpu === 'arm64' ? [[platform, arm64Libraries(ROOT)]] : []
}

function systemPackages([{ cpu }, libraries]: readonly [Platform, readonly Library[]]) {
  const versions = new Map(libraries.map((one) => [one.package, one.version]))
  return Array.from(versions, ([name, version]) => ({ name, version, cpu: CPUS[cpu] })).sort(
    (one, other) => (one.name < other.name ? -1 : 1),
  )
}

/** Writes image archives with the same content as in a registry. */
function writeImages(
  version: string,
  all: ReadonlyMap<Platform, readonly Library[]>,
  shared: readonly string[],
): readonly string[] {
  if (all.size === 0) console.log('no images of the platforms that were asked for')
  const nodes = Array.from(all, ([platform, libraries]) => {
    return { cpu: CPUS[platform.cpu], node: nodeFiles(nodeFor(ROOT, platform), libraries) }
  })
  return Object.entries(IMAGES).flatMap(([title, image]) => {
    const name = `${REGISTRY}/${title}:${version}`
    const files = [...filesOf(image.program), ...shared]
    const built = nodes.map(({ cpu, node }) =>
      programImage({ ...image, name, title, version, cpu, node, dist: DIST, files }),
    )
    const single = built.map((one) => {
      return write(`${title}-${version}-linux-${one.image.cpu}.tar`, imageArchive(one))
    })
    const [first, ...more] = built
    if (first === undefined || more.length === 0) return single
    const both: readonly [BuiltImage, ...BuiltImage[]] = [first, ...more]
    return [...single, write(`${title}-${version}-linux-all.tar`, indexArchive(both))]
  })
}

/** Writes Node and the program as one file for each platform. */
function writeSingleFiles(version: string, platforms: readonly Platform[]): readonly string[] {
  return platforms.map((platform) => {
    const file = `portcullis-${version}-${platform.name}${platform.os === 'win32' ? '.exe' : ''}`
    const at = (name: string) => join(DIST, name)
    // V8 code is usable only on the platform that it was generated on.
    const code = platform === hostPlatform() ? ['portcullis.code'] : []
    const threads = Object.keys(THREADS).map((name) => `${name}.cjs`)
    const names = ['portcullis.cjs', ...code, 'start.cjs', ...threads, ...OWN_FILES]
    const assets = Object.fromEntries(names.map((name) => [name, at(name)]))
    writeSingleFile({ root: ROOT, platform, start: at('start.cjs'), assets, output: at(file) })
    return file
  })
}

function writePackages(own: PackageFacts, files: readonly string[]): readonly string[] {
  const charts = chartPackages(ROOT).map(({ file, bytes }) => write(file, bytes))
  return [write(`${own.name}-${own.version}.tgz`, writeNpmPackage(DIST, files)), ...charts]
}

function writeManual(version: string): readonly string[] {
  return [['portcullis.1', renderManual(version)] as const, ...renderCompletions()].map(
    ([name, text]) => write(name, text),
  )
}

function write(name: string, content: string | Buffer): string {
  mkdirSync(dirname(join(DIST, name)), { recursive: true })
  writeFileSync(join(DIST, name), content)
  return name
}

function pick({ name, version, license }: PackageFacts) {
  return { name, version, license }
}

function renderSum(name: string): string {
  const digest = createHash('sha256').update(readFileSync(join(DIST, name)))
  return `${digest.digest('hex')}  ${name}\n`
}

function sizeOf(name: string): string {
  return `${(statSync(join(DIST, name)).size / 1024).toFixed(0)} KiB`
}

await release()
