import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { workersOf } from '../proxy/worker-processes.ts'
import { freePort, type Running, start, status, until } from './running.ts'

const ROOT = join(import.meta.dirname, '../..')
const ANY = "request.path != ''"
describe('portcullis run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  let backend: Server
  let ports: {
    http: number
    other: number
    admin: number
    stats: number
    ready: number
    backend: number
  }
  const running: Running[] = []

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: 0\n\n')
        const timer = setInterval(() => response.write('data: more\n\n'), 50)
        response.on('close', () => clearInterval(timer))
      } else if (request.url === '/slow') setTimeout(() => response.end('slow'), 300)
      else response.end('hello')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => backend.on('listening', resolve))
    const [http, other, admin, stats, ready] = await Promise.all([1, 2, 3, 4, 5].map(freePort))
    const own = (backend.address() as AddressInfo).port
    ports = { http, other, admin, stats, ready, backend: own } as typeof ports
  })

  // A gateway that a failed test left running would respond in the next test.
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGKILL')
    await Promise.all(running.splice(0).map(({ exit }) => exit))
  })

  after(() => {
    backend.close()
    backend.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  function config(rule: string, more = '', workers = 1): string {
    return `config:
  workers: ${workers}
  adminAddr: 127.0.0.1:${ports.admin}
  statsAddr: 127.0.0.1:${ports.stats}
  readinessAddr: 127.0.0.1:${ports.ready}
gateways:
  default:
    port: ${ports.http}
${more}routes:
- name: all
  gateways: [default]
  policies:
    authorization:
      rules:
      - allow: ${rule}
  backends:
  - host: 127.0.0.1:${ports.backend}
`
  }

  async function serving(text: string): Promise<Running> {
    writeFileSync(file, text)
    const own = start('run', '-f', file)
    running.push(own)
    await until(`readiness`, async () => (await status(ports.ready, '/healthz/ready')) === 200)
    return own
  }

  async function stop(own: Running): Promise<void> {
    own.child.kill('SIGTERM')
    assert.equal(await own.exit, 0, own.out())
  }

  const metric = async (name: string) => {
    const text = await fetch(`http://127.0.0.1:${ports.stats}/metrics`).then((response) =>
      response.text(),
    )
    return Number(text.match(new RegExp(`^${name} (.*)$`, 'm'))?.[1])
  }

  it('rejects a file with an error, reports its place, and exits with 1', async () => {
    writeFileSync(file, config("reqest.path == '/'"))
    const own = start('run', '-f', file)
    running.push(own)
    assert.equal(await own.exit, 1)
    assert.match(own.out(), /PC0103.*unknown variable `reqest`[\s\S]*gateway\.yaml:\d+:\d+/)
  })

  it('rejects a rule that can never match, at the start and as a change', async () => {
    const NEVER = "jwt.sub == 'alice'"
    writeFileSync(file, config(NEVER))
    const rejected = start('run', '-f', file)
    running.push(rejected)
    assert.equal(await rejected.exit, 1)
    assert.match(rejected.out(), /error\[AZ001\]: `jwt` is never set here[\s\S]*gateway\.yaml:\d+/)
    const own = await serving(config(ANY))
    writeFileSync(file, config(NEVER))
    await until('the rejection', () => own.out().includes('AZ001'))
    assert.equal(await status(ports.http, '/'), 200)
    await stop(own)
  })

  it('reports which of its own addresses is taken, and exits with 1', async () => {
    writeFileSync(file, config(ANY).replace(`:${ports.admin}`, `:${ports.backend}`))
    const own = start('run', '-f', file)
    assert.equal(await own.exit, 1)
    assert.match(
      own.out(),
      /error\[PC0401\]: cannot listen on 127\.0\.0\.1:\d+: the address is already in use/,
    )
    assert.match(own.out(), /config\.adminAddr/)
    assert.doesNotMatch(own.out(), /node:|at .*\.ts:/)
  })

  it('applies a change, keeps the previous configuration when a change is invalid, and logs both', async () => {
    const own = await serving(config("request.path == '/a'"))
    assert.deepEqual([await status(ports.http, '/a'), await status(ports.http, '/b')], [200, 403])
    writeFileSync(file, config("request.path == '/b'"))
    await until('the change', async () => (await status(ports.http, '/b')) === 200)
    assert.equal(await status(ports.http, '/a'), 403)
    writeFileSync(file, config("reqest.path == '/c'"))
    await until('the rejection', async () => (await metric('portcullis_config_synchronized')) === 0)
    assert.match(own.out(), /PC0103/)
    assert.equal(await status(ports.http, '/b'), 200)
    // An editor that writes another file and renames it.
    writeFileSync(join(folder, 'new'), config("request.path == '/c'"))
    renameSync(join(folder, 'new'), file)
    await until('the rename', async () => (await status(ports.http, '/c')) === 200)
    assert.equal(await metric('portcullis_config_synchronized'), 1)
    await stop(own)
  })

  it('reports which changes require a restart, and applies the rest', async () => {
    const own = await serving(config("request.path == '/a'"))
    writeFileSync(file, config("request.path == '/b'", '', 2))
    await until('the change', async () => (await status(ports.http, '/b')) === 200)
    await until('the warning', () => own.out().includes('PC0405'))
    assert.match(own.out(), /`config\.workers` takes effect after a restart/)
    const dump = await fetch(`http://127.0.0.1:${ports.admin}/config_dump`).then((it) => it.text())
    assert.match(dump, /"workers": ?1\b/)
    // A file that is written in place is empty for a moment.
    writeFileSync(file, '')
    await until('the rejection', async () => (await metric('portcullis_config_synchronized')) === 0)
    assert.equal(await status(ports.http, '/b'), 200)
    await stop(own)
  })

  it('applies the last of several quick changes, also while one is read', async () => {
    const own = await serving(config("request.path == '/a'"))
    const name = (index: number) => `padding-${index}`
    const padding = Array.from({ length: 2_000 }, (_, index) => `- name: ${name(index)}\n`).join('')
    const long = (path: string) => `${config(`request.path == '${path}'`)}${padding}`
    for (const path of ['/b', '/c']) writeFileSync(file, long(path))
    await until('the last of two', async () => (await status(ports.http, '/c')) === 200)
    // Reading each takes longer than writing the next one.
    for (let i = 0; i < 8; i++) {
      writeFileSync(file, long(`/d${i}`))
      await wait(60)
    }
    await until('the last of many', async () => (await status(ports.http, '/d7')) === 200)
    await until('peace', async () => (await metric('portcullis_config_synchronized')) === 1)
    assert.equal(await status(ports.http, '/d6'), 403)
    await stop(own)
  })

  it('serves while a thread reads a long file with YAML anchors', async () => {
    const own = await serving(config("request.path == '/a'"))
    const padding = '# an anchor, and much else\n'.repeat(2_000)
    const anchored = (rule: string) =>
      `${config(rule)}${padding}`.replace('name: all', 'name: &all all')
    writeFileSync(file, anchored("request.path == '/b'"))
    const seen = new Set<number>()
    await until('the change', async () => {
      seen.add(await status(ports.http, '/a'))
      return (await status(ports.http, '/b')) === 200
    })
    assert.ok([...seen].every((code) => code === 200 || code === 403))
    writeFileSync(file, anchored("reqest.path == '/c'"))
    await until('the rejection', async () => (await metric('portcullis_config_synchronized')) === 0)
    assert.match(own.out(), /PC0103.*unknown variable `reqest`[\s\S]*gateway\.yaml:\d+:\d+/)
    assert.equal(await status(ports.http, '/b'), 200)
    await stop(own)
  })

  it('adds and removes listeners live', async () => {
    const own = await serving(config(ANY))
    const more = `  other:\n    port: ${ports.other}\n`
    writeFileSync(
      file,
      config(ANY, more).replace('gateways: [default]', 'gateways: [default, other]'),
    )
    await until('the other port', async () => (await status(ports.other)) === 200)
    writeFileSync(file, config(ANY))
    await until('its end', async () => (await status(ports.other)) === 0)
    assert.equal(await status(ports.http), 200)
    await stop(own)
  })

  it('reports the line of a listener whose port is taken, and keeps the previous configuration', async () => {
    const own = await serving(config(ANY))
    const other = createTcpServer().listen(0)
    await new Promise((resolve) => other.on('listening', resolve))
    const { port } = other.address() as AddressInfo
    writeFileSync(file, config(ANY, `  other:\n    port: ${port}\n`))
    await until('the rejection', async () => (await metric('portcullis_config_synchronized')) === 0)
    assert.match(own.out(), /PC0401.*\n.*gateway\.yaml:9:3\n.*│ {3}other:\n.*│ {3}\^{5}\n.*= hint/)
    assert.equal(await status(ports.http), 200)
    await new Promise((resolve) => other.close(resolve))
    await stop(own)
  })

  it('does not cut streams when something else changes', async () => {
    const own = await serving(config("request.path == '/events' || request.path == '/a'"))
    const count = 200
    const streams: { socket: Socket; text: string; closed: boolean }[] = []
    for (let i = 0; i < count; i++) {
      const stream = { socket: connect(ports.http, '127.0.0.1'), text: '', closed: false }
      stream.socket.on('data', (bytes) => (stream.text += bytes))
      stream.socket.on('close', () => (stream.closed = true))
      stream.socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n')
      streams.push(stream)
    }
    await until('all streams', () => streams.every(({ text }) => text.includes('data: 0')))
    writeFileSync(file, config("request.path == '/events' || request.path == '/b'"))
    await until('the change', async () => (await status(ports.http, '/b')) === 200)
    const lengths = streams.map(({ text }) => text.length)
    await wait(200)
    assert.equal(streams.filter(({ closed }) => closed).length, 0)
    assert.ok(streams.every(({ text }, i) => text.length > (lengths[i] as number)))
    for (const { socket } of streams) socket.destroy()
    await stop(own)
  })

  it('completes pending requests before it ends, and is not ready meanwhile', async () => {
    const own = await serving(config(ANY))
    const slow = status(ports.http, '/slow')
    await wait(100)
    own.child.kill('SIGTERM')
    assert.equal(await slow, 200)
    assert.equal(await own.exit, 0)
  })

  for (const [title, signal, isForAll] of [
    ['SIGTERM', 'SIGTERM', false],
    ['Ctrl-C, which npm passes on though all have it', 'SIGINT', true],
  ] as const) {
    it(`npm start ends with the gateway, requests finished: ${title}`, async () => {
      writeFileSync(file, config(ANY))
      // As the script of package.json, with a file instead of the demo.
      const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
      const start = scripts.start.replace(
        /bin\/portcullis\.ts \w+/,
        `${ROOT}/bin/portcullis.ts run`,
      )
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }))
      const npm = spawn('npm', ['start', '--', '-f', file], {
        cwd: folder,
        env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}` },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      let out = ''
      for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (bytes) => (out += bytes))
      const exit = new Promise<number | null>((resolve) => npm.on('exit', resolve))
      const pid = npm.pid as number
      try {
        await until('readiness', async () => (await status(ports.ready, '/healthz/ready')) === 200)
        const slow = status(ports.http, '/slow')
        await wait(100)
        process.kill(isForAll ? -pid : pid, signal)
        assert.equal(await slow, 200)
        assert.equal(await exit, 0, out)
        assert.match(out, /message=stopped/)
        assert.equal(await status(ports.http), 0)
      } finally {
        // Ends what is left of the process group, which is gone if all went well.
        try {
          process.kill(-pid, 'SIGKILL')
        } catch {}
      }
    })
  }

  it('a second signal ends it immediately', async () => {
    const own = await serving(config(ANY))
    const stream = connect(ports.http, '127.0.0.1')
    stream.on('error', () => {})
    stream.write('GET /events HTTP/1.1\r\nhost: a\r\n\r\n')
    await new Promise((resolve) => stream.once('data', resolve))
    own.child.kill('SIGTERM')
    await until('draining', () => own.out().includes('message=draining'))
    await wait(400)
    own.child.kill('SIGTERM')
    assert.equal(await own.exit, 1)
    assert.doesNotMatch(own.out(), /message=stopped/)
    stream.destroy()
  })

  it('workers share the port, and a killed worker is replaced', async () => {
    const own = await serving(config(ANY, '', 2))
    await until('traffic', async () => (await status(ports.http)) === 200)
    const pids = () =>
      fetch(`http://127.0.0.1:${ports.stats}/metrics`)
        .then((response) => response.text())
        .then((text) =>
          [...text.matchAll(/process_start_time_seconds\{worker="(\d)"\} (\S+)/g)].map(String),
        )
    const before = await pids()
    assert.equal(before.length, 2)
    const { pid } = own.child
    process.kill(workersOf(pid)[0] as number, 'SIGKILL')
    await until('the new worker', async () => {
      const now = await pids()
      return now.length === 2 && now.join() !== before.join()
    })
    for (let i = 0; i < 20; i++) assert.equal(await status(ports.http), 200)
    writeFileSync(file, config("request.path == '/only'", '', 2))
    await until('the change in every worker', async () => {
      const all = await Promise.all(Array.from({ length: 20 }, () => status(ports.http, '/other')))
      return all.every((code) => code === 403)
    })
    await stop(own)
  })

  it('follows the link that Kubernetes swaps', async () => {
    const volume = join(folder, 'volume')
    for (const [version, path] of [
      ['1', '/a'],
      ['2', '/b'],
    ] as const) {
      mkdirSync(join(volume, `..${version}`), { recursive: true })
      writeFileSync(
        join(volume, `..${version}`, 'gateway.yaml'),
        config(`request.path == '${path}'`),
      )
    }
    symlinkSync('..1', join(volume, '..data'))
    symlinkSync('..data/gateway.yaml', join(volume, 'gateway.yaml'))
    const own = start('run', '-f', join(volume, 'gateway.yaml'))
    running.push(own)
    await until('readiness', async () => (await status(ports.ready, '/healthz/ready')) === 200)
    assert.equal(await status(ports.http, '/a'), 200)
    symlinkSync('..2', join(volume, '..data_tmp'))
    renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
    await until('the swap', async () => (await status(ports.http, '/b')) === 200)
    await stop(own)
  })

  it('shows the running configuration', async () => {
    const own = await serving(config(ANY))
    const dump = await fetch(`http://127.0.0.1:${ports.admin}/config_dump`)
    assert.match(await dump.text(), /"name": "all"/)
    await stop(own)
  })
})
