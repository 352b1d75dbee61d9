import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { call, PLATFORMS } from '../../tools/release/platforms.ts'
import {
  type Installed,
  installImage,
  installPackage,
  installSingleFile,
  machineNode,
  machinePath,
} from './install.ts'
import type { NewcomerStep, NewcomerTask } from './newcomer.ts'
import { cookbookKinds, cookbookPages, firstMinuteLines, PAGES } from './pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const HELM = join(ROOT, '.cache/cluster/bin/helm')

/** Installed from the published artefacts, in folders that contain nothing of the repository. */
describe('a release', { skip: whyNot() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-artefacts-'))
  const dist = join(folder, 'dist')
  const artefact = (pattern: RegExp) => {
    const name = readdirSync(dist).find((file) => pattern.test(file))
    assert.ok(name !== undefined, `no ${pattern} in the release`)
    return join(dist, name)
  }
  before(() => void release('linux-x64', dist))
  after(() => rmSync(folder, { recursive: true, force: true }))

  const ways: readonly (readonly [string, (home: string) => Installed])[] = [
    [
      `the npm package, started by Node ${machineNode()}`,
      (home) => installPackage(artefact(/^portcullis-[\d.]+\.tgz$/), home),
    ],
    ['the single file', (home) => installSingleFile(artefact(/-linux-x64$/), home)],
    ['the image', (home) => installImage(artefact(/^portcullis-proxy-.*-amd64\.tar$/), home)],
  ]
  for (const [name, install] of ways) {
    it(`${name}: install, first minute, one page of each kind, uninstall`, (test) => {
      const home = mkdtempSync(join(folder, 'home-'))
      const installed = install(home)
      const steps = walk(home, installed)
      for (const { page, isDone } of steps)
        test.diagnostic(`result: ${name}: ${page}: ${isDone ? 'done' : 'FAILED'}`)
      const failed = steps.filter(({ isDone }) => !isDone)
      assert.deepEqual(failed, [])
      const walked = new Set(steps.map(({ page }) => page))
      for (const page of PAGES) {
        for (const command of ['check', 'test']) {
          assert.ok(walked.has(`${page}: ${command}`), `${page}: ${command} was not tried`)
        }
      }
      assert.ok(steps.length >= 45, `only ${steps.length} steps`)
      installed.uninstall()
      assert.equal(existsSync(join(installed.path, 'portcullis')), false)
      assert.deepEqual(readdirSync(join(home, 'user')), [], 'left in the home folder')
      assert.deepEqual(readdirSync(join(home, 'tmp')), [], 'left in the folder for temporary files')
    })
  }

  it('completes a page of each kind that the cookbook has, and of migration', () => {
    const kinds = cookbookKinds()
    assert.ok(kinds.size >= 6)
    for (const [kind, pages] of kinds) {
      assert.ok(
        PAGES.some((page) => pages.includes(page)),
        `no page of "${kind}"`,
      )
    }
  })

  it('has the checksum of every file that is published', () => {
    const listed = readFileSync(join(dist, 'SHA256SUMS'), 'utf8').trim().split('\n')
    assert.ok(listed.length > 15)
    for (const line of listed) {
      const [sum, name = ''] = line.split('  ')
      const digest = createHash('sha256').update(readFileSync(join(dist, name)))
      assert.equal(digest.digest('hex'), sum, name)
    }
  })

  it('is for the platforms that the documentation names', () => {
    assert.deepEqual(
      PLATFORMS.map(({ name }) => name),
      ['linux-x64', 'linux-arm64', 'macos-x64', 'macos-arm64', 'windows-x64'],
    )
    const page = readFileSync(join(ROOT, 'docs/tasks/install.md'), 'utf8')
    for (const { name } of PLATFORMS) assert.ok(page.includes(name), name)
  })

  it('has charts that Helm accepts', (test) => {
    if (!existsSync(HELM)) return test.skip('Helm is not built')
    for (const name of ['portcullis', 'portcullis-crds', 'portcullis-standalone']) {
      const chart = artefact(new RegExp(`^chart-${name}-[\\d.]+\\.tgz$`))
      assert.match(call(HELM, ['template', 'edge', chart]), /^kind: /m)
    }
  })

  it('has a manual page that man shows, and completions that shells read', () => {
    const page = readFileSync(join(dist, 'portcullis.1'), 'utf8')
    for (const command of ['run', 'check', 'why', 'convert']) {
      assert.match(page, new RegExp(`^\\.SS ${command}$`, 'm'))
    }
    assert.doesNotMatch(page, /^\.(?!SH|SS|TH|TP|PP|nf|fi|B|I|RI|\\")/m)
    call('bash', ['-n', join(dist, 'completions/portcullis.bash')])
  })

  it('lists all that it contains: packages, Node and its linked libraries', () => {
    const { components } = JSON.parse(readFileSync(artefact(/\.cdx\.json$/), 'utf8'))
    const names = new Set(components.map(({ name }: { name: string }) => name))
    for (const name of ['zod', 'yaml', 'node', 'libc6', 'libstdc++6'])
      assert.ok(names.has(name), name)
    const node = components.find(({ name }: { name: string }) => name === 'node')
    const linked = node.components.map(({ name }: { name: string }) => name)
    for (const name of ['v8', 'openssl', 'zlib']) assert.ok(linked.includes(name), name)
  })

  it('is identical, byte for byte, when it is built in another folder', () => {
    const again = join(folder, 'elsewhere/again')
    release('linux-x64', again)
    const sums = (of: string) => readFileSync(join(of, 'SHA256SUMS'), 'utf8').trim().split('\n')
    assert.deepEqual(sums(again), sums(dist))
  })

  function walk(home: string, { folder: work, path }: Installed): readonly NewcomerStep[] {
    for (const name of ['user', 'tmp']) mkdirSync(join(home, name))
    mkdirSync(work, { recursive: true })
    const task: NewcomerTask = {
      folder: work,
      environment: {
        PATH: `${path}:${machinePath}`,
        HOME: join(home, 'user'),
        TMPDIR: join(home, 'tmp'),
        NO_UPDATE_NOTIFIER: '1',
      },
      lines: firstMinuteLines(),
      pages: cookbookPages(),
    }
    const file = join(home, 'task.json')
    writeFileSync(file, JSON.stringify(task))
    const args = ['--net', '--', process.execPath, join(import.meta.dirname, 'newcomer.ts'), file]
    const { stdout, stderr, status } = spawnSync('unshare', args, { encoding: 'utf8', cwd: home })
    assert.equal(status, 0, stderr)
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
})

function release(platforms: string, dist: string): string {
  return call(process.execPath, [
    join(ROOT, 'tools/release.ts'),
    `--platforms=${platforms}`,
    `--dist=${dist}`,
  ])
}

function whyNot(): string | false {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it is made on Linux, x64'
  if (process.getuid?.() !== 0) return 'images are tried by root alone'
  if (machineNode() === undefined) return 'no Node but that of the repository is installed'
  const { status } = spawnSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up'])
  return status === 0 ? false : 'unshare and ip, for a network of its own, are not there'
}
