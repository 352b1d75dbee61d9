import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { compileBundle, FOOT, HEAD } from '../bundle/script.ts'
import { PLATFORMS } from './platforms.ts'

/** Program → its entry point. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  portcullis: 'bin/portcullis.ts',
  controller: 'bin/controller.ts',
}
/** Those that must start quickly, and can be tried without a cluster. */
const WARMED = ['portcullis']

/** What programs start as threads: a file beside them, which nobody runs by name. */
export const THREADS: Readonly<Record<string, string>> = {
  'password-worker': 'src/policies/basic-auth/password-worker.ts',
}

/**
 * Of each program there is `.cjs`, all of its text; `.code`, what V8 made of that text, for a quick
 * start with the same Node on the same platform; and `.mjs`, which starts it.
 */
export function filesOf(program: string): readonly string[] {
  const endings = ['.mjs', '.cjs', ...(WARMED.includes(program) ? ['.code'] : [])]
  return endings.map((ending) => `${program}${ending}`)
}

/** Writes the programs; the files that went into them. */
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
    // Not as a module: an import of node:http and its like evaluates all that they have.
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
    // Packages written as CommonJS call require for what Node has built in.
    banner: {
      js: "import { createRequire as __requireOf } from 'node:module'; const require = __requireOf(import.meta.url);",
    },
  })
  // A file that runs by itself has its scripts as texts, which are not modules.
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
  const warming = ['--predictable', join(root, 'tools/bundle/warm-up.ts'), file]
  const { status, stderr } = spawnSync(process.execPath, warming, { timeout: 60_000 })
  if (status !== 0) throw new Error(`${file} does not run: ${stderr}`)
  // This process has the settings of V8 that a start has; without the code a start takes half longer.
  const { script } = compileBundle(file)
  if (script.cachedDataRejected !== false) throw new Error(`V8 refuses the code of ${file}`)
}

/** The schema library has its messages in fifty languages, and every start would load them. */
const withoutTranslations: Plugin = {
  name: 'without-translations',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: '' })),
}

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node26',
  // One byte for each character, also in memory.
  charset: 'ascii',
  // Not minified: a stack trace that a user sends can be read without a map.
  legalComments: 'none',
  logLevel: 'warning',
} as const
