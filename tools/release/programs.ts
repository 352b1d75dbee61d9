import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { compileBundle, FOOT, HEAD } from '../bundle/script.ts'
import { PLATFORMS } from './platforms.ts'

/** Program → its entry point. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  portcullis: 'bin/portcullis.ts',
  controller: 'bin/controller.ts',
}
/** Programs that must start quickly and can run without a cluster. */
const WARMED = ['portcullis']

/** Worker threads: files next to the programs that are not run directly. */
export const THREADS: Readonly<Record<string, string>> = {
  'password-worker': 'src/policies/basic-auth/password-worker.ts',
}

/** Files that programs read at run time, by their path in the repository. */
export function programFiles(root: string): readonly string[] {
  return ['examples/quickstart.yaml', ...globSync('examples/init/*.yaml', { cwd: root })]
}

/**
 * Each program consists of `.cjs`, its complete text; `.code`, the code that V8 generated from it,
 * for a quick start with the same Node on the same platform; and `.mjs`, which starts it.
 */
export function filesOf(program: string): readonly string[] {
  const endings = ['.mjs', '.cjs', ...(WARMED.includes(program) ? ['.code'] : [])]
  return endings.map((ending) => `${program}${ending}`)
}

/** Writes the programs; returns their input files. */
export async function writePrograms(root: string, dist: string): Promise<readonly string[]> {
  const common = {
    ...COMMON,
    plugins: [withoutTranslations],
    absWorkingDir: root,
    outdir: dist,
  }
  const asScript = {
    ...common,
    outExtension: { '.js': '.cjs' },
    // Not ESM: importing node:http and similar modules evaluates all of their exports.
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname', 'import.meta.url': '__url' },
    metafile: true,
  } as const
  const { metafile } = await build({
    ...asScript,
    entryPoints: PROGRAMS,
    banner: { js: HEAD },
    footer: { js: FOOT },
  })
  const starts = Object.keys(PROGRAMS).map((name) => [name, 'tools/bundle/start.ts'])
  const { metafile: beside } = await build({
    ...common,
    entryPoints: { ...Object.fromEntries(starts), ...THREADS },
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    metafile: true,
    // CommonJS packages call require for Node's built-in modules.
    banner: {
      js: "import { createRequire as __requireOf } from 'node:module'; const require = __requireOf(import.meta.url);",
    },
  })
  // A single-file executable embeds its scripts as text, which cannot be modules.
  await build({
    ...asScript,
    entryPoints: { start: 'tools/bundle/start-single-file.ts', ...THREADS },
  })
  await build({
    ...common,
    entryPoints: { launch: 'tools/bundle/launch.ts' },
    format: 'esm',
    target: 'node20',
    define: {
      NODE_VERSION: JSON.stringify(process.versions.node),
      NODE_PACKAGES: JSON.stringify(nodePackages()),
    },
  })
  for (const name of WARMED) warmUp(root, join(dist, `${name}.cjs`))
  return [...Object.keys(metafile.inputs), ...Object.keys(beside.inputs)]
}

function nodePackages() {
  const entries = PLATFORMS.map(({ os, cpu, package: name, binary }) => {
    return [`${os}-${cpu}`, { package: name, binary }]
  })
  return Object.fromEntries(entries)
}

function warmUp(root: string, file: string): void {
  // Without a collection: when it begins depends on the speed of the machine, and it drops code.
  const space = ['--min-semi-space-size=64', '--max-semi-space-size=64']
  const warming = ['--predictable', ...space, join(root, 'tools/bundle/warm-up.ts'), file]
  const { status, stderr } = spawnSync(process.execPath, warming, { timeout: 60_000 })
  if (status !== 0) throw new Error(`${file} does not run: ${stderr}`)
  // This process has the same V8 flags as a start; without the code a start takes 50% longer.
  const { script } = compileBundle(file)
  if (script.cachedDataRejected !== false) throw new Error(`V8 refuses the code of ${file}`)
}

/** zod ships its messages in fifty languages, and every start would load them. */
const withoutTranslations: Plugin = {
  name: 'without-translations',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: '' })),
}

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node26',
  // One byte per character, also in memory.
  charset: 'ascii',
  // Not minified, so that users' stack traces are readable without a source map.
  legalComments: 'none',
  logLevel: 'warning',
} as const
