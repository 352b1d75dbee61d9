import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call } from '../../tools/release/platforms.ts'

/*
 * `node test/release/whole.ts`, for a nightly run: everything that `npm run release` makes must be
 * identical when made twice, and the arm64 artefacts run here under qemu, which comes as a Debian
 * package.
 */
const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'portcullis-whole-'))
const failures: string[] = []
let passed = 0

function expect(what: string, isRight: boolean): void {
  if (isRight) passed++
  else failures.push(what)
  console.log(`${isRight ? 'passed' : 'FAILED'}: ${what}`)
}

try {
  const [first, second] = ['first', 'in/another/folder'].map((name) => {
    const dist = join(folder, name)
    call(process.execPath, [join(ROOT, 'tools/release.ts'), '--all', `--dist=${dist}`])
    return dist
  })
  if (first === undefined || second === undefined) throw new Error('unreachable')
  const sums = (dist: string) => readFileSync(join(dist, 'SHA256SUMS'), 'utf8').trim().split('\n')
  const again = new Set(sums(second))
  for (const line of sums(first)) expect(`${line.slice(66)} is the same again`, again.has(line))

  const qemu = fetchQemu()
  const file = readdirSync(first).find((name) => name.endsWith('-linux-arm64')) ?? ''
  const libraries = join(ROOT, '.cache/debian-arm64/root')
  for (const [args, pattern] of [
    [['version'], /^portcullis \d/],
    [['check', join(ROOT, 'examples/quickstart.yaml')], /no errors/],
    [['explain', 'PC0107'], /PC0107/],
  ] as const) {
    const command = ['-L', libraries, join(first, file), ...args]
    const { stdout } = spawnSync(qemu, command, { encoding: 'utf8', timeout: 300_000 })
    expect(`arm64: portcullis ${args[0]}`, pattern.test(stdout ?? ''))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failures.length} failed`)
process.exitCode = failures.length === 0 ? 0 : 1

function fetchQemu(): string {
  const cache = join(ROOT, '.cache/qemu')
  const file = join(cache, 'usr/bin/qemu-aarch64-static')
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  call('apt-get', ['--quiet', 'download', 'qemu-user-static'], cache)
  const archive = readdirSync(cache).find((name) => name.endsWith('.deb')) ?? ''
  call('dpkg-deb', ['--extract', archive, cache], cache)
  return file
}
