import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Repeats the wide tier with other seeds until FUZZ_RUNS (1,000,000) inputs have been tested. Each
 * round has its own process, since generated code stays in memory as long as the process runs.
 * Names on the command line select tests: `nightly.ts gateway-sockets http1`. `truth` serves one
 * pair of files for every ten inputs: 100,000 in a night.
 */
const ROUND = 20_000

const inAll = Number(process.env['FUZZ_RUNS'] ?? 1_000_000)
const first = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000_000)
const rounds = Math.ceil(inAll / ROUND)
const folder = fileURLToPath(new URL('.', import.meta.url))
const chosen = process.argv.slice(2)
const others = [
  '../truth/truth',
  '../oracle/hpack-go',
  '../oracle/http2-go',
  '../oracle/http2-scripts-go',
]
const files = globSync([
  `${folder}*.test.ts`,
  ...others.map((name) => `${folder}${name}.test.ts`),
]).filter((file) => chosen.length === 0 || chosen.some((name) => basename(file).startsWith(name)))
if (files.length === 0) throw new RangeError(`no test begins with ${chosen.join(' or ')}`)

// Printed first, so that a run that is cut short can be repeated too.
console.log(`seed ${first}: ${rounds} rounds of ${files.length} files, ${inAll} texts in all`)
const failed: number[] = []
for (let round = 0; round < rounds; round++) {
  const seed = first + round * ROUND
  const runs = Math.min(ROUND, inAll - round * ROUND)
  const env = { ...process.env, FUZZ_RUNS: String(runs), FUZZ_SEED: String(seed) }
  const flags = ['--test', '--test-isolation=none', '--test-reporter=dot']
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, ...files], {
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  // The share of unknown results is reported even if all tests pass.
  for (const [line] of stdout.matchAll(/^ *not known: .*$/gm)) console.log(`seed ${seed}:${line}`)
  if (status === 0) continue
  failed.push(seed)
  const again = `FUZZ_SEED=${seed} FUZZ_RUNS=${runs} node test/fuzz/nightly.ts`
  console.log(`seed ${seed} failed; again: ${[again, ...chosen].join(' ')}\n${stdout}${stderr}`)
}
if (failed.length > 0) console.log(`seeds that failed: ${failed.join(', ')}`)
console.log(`${rounds - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 ? 0 : 1
