import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ROOT, reachable, SOURCE, settled } from '../proxy/contenders.ts'
import { type Found, findProgram } from '../proxy/find.ts'
import { freePorts, type Started, start } from '../proxy/processes.ts'

export interface ModelGateway {
  readonly name: string
  readonly version: string
  readonly started: Started
  readonly port: number
  /** Headers that its clients send, as `name: value`. */
  readonly headers: readonly string[]
  /** Share of the calls that is enough to measure it: slow gateways need fewer. */
  readonly share: number
  /** V8 compiles it while it runs: it needs as many calls as this gateway to reach full speed. */
  readonly isCompiledWhileItRuns?: true
}

const CACHE = join(ROOT, '.cache')
const KEY = 'authorization: Bearer sk-client'

export async function startNginx(folder: string, upstream: number): Promise<ModelGateway | string> {
  const found = findProgram('nginx', '-v')
  if (typeof found === 'string') return found
  const home = join(folder, 'nginx')
  mkdirSync(home)
  const [port = 0] = await freePorts(1)
  const file = join(home, 'nginx.conf')
  writeFileSync(file, nginxConfiguration(home, port, upstream))
  const started = start('proxy', found.program, ['-p', home, '-c', file])
  await reachable(port, started)
  const { version } = found
  return { name: 'nginx', version, started, port, headers: [KEY], share: 1 }
}

/** Without buffering, as streams require. */
function nginxConfiguration(folder: string, port: number, upstream: number): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log crit;
events { worker_connections 20000; }
worker_rlimit_nofile 40000;
http {
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 600s;
  keepalive_requests 100000000;
${folders.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  upstream model { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_buffering off;
    }
  }
}
`
}

export interface OwnGateway {
  readonly name: string
  /** The provider in the configuration file. */
  readonly provider: 'openAI' | 'anthropic' | 'bytes'
  readonly program?: string
}

/** This gateway. `bytes` only forwards; otherwise calls are parsed, counted and authorized. */
export async function startOwn(
  folder: string,
  upstream: number,
  { name, provider, program = SOURCE }: OwnGateway,
): Promise<ModelGateway> {
  const [port = 0] = await freePorts(1)
  const address = `127.0.0.1:${upstream}`
  const rule = { rules: [{ allow: `llm.requestModel == 'mock-model'` }] }
  const ai = {
    ...{ name: 'mock', provider: { [provider]: {} }, hostOverride: address },
    policies: { backendAuth: { key: 'sk-provider' }, authorization: rule },
  }
  const backend = provider === 'bytes' ? { host: address } : { ai }
  const configuration = {
    config: {
      ...{ workers: 1, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
      logging: { level: 'warn' },
    },
    gateways: { default: { port } },
    frontendPolicies: { accessLog: { enabled: false } },
    routes: [{ name: 'models', backends: [{ backend: 'mock' }] }],
    backends: [{ name: 'mock', ...backend }],
  }
  const file = join(folder, `${provider}-${port}.yaml`)
  writeFileSync(file, stringify(configuration))
  const started = start('proxy', process.execPath, [program, 'run', '-f', file])
  await reachable(port, started, 30_000)
  await settled(started.pid)
  return { name, version: '', started, port, headers: [KEY], share: 1, isCompiledWhileItRuns: true }
}

/** The versions that a fresh install resolves to cannot stream; these overrides can. */
const PORTKEY = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  overrides: { hono: '4.9.7', '@hono/node-server': '1.13.7' },
}

export async function startPortkey(upstream: number): Promise<ModelGateway | string> {
  const folder = join(CACHE, 'llm-peers/portkey')
  const main = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  if (!existsSync(main)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify(PORTKEY))
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
    const problem = install('npm', args, folder)
    if (problem !== undefined) return `Portkey cannot be installed: ${problem}`
  }
  const manifest = readFileSync(join(main, '../../package.json'), 'utf8')
  const [port = 0] = await freePorts(1)
  const started = start('proxy', 'env', [
    ...['NODE_ENV=production', process.execPath, main],
    ...[`--port=${port}`, '--headless'],
  ])
  await reachable(port, started, 60_000)
  const headers = [
    KEY,
    'x-portkey-provider: openai',
    `x-portkey-custom-host: http://127.0.0.1:${upstream}/v1`,
  ]
  const { version } = JSON.parse(manifest) as Found
  const about = { name: 'Portkey', version, started, port, headers }
  return { ...about, share: 0.2, isCompiledWhileItRuns: true }
}

const MASTER_KEY = 'sk-bench-1234567890'

export async function startLiteLlm(
  folder: string,
  upstream: number,
): Promise<ModelGateway | string> {
  const home = join(CACHE, 'llm-peers/litellm')
  const program = join(home, 'bin/litellm')
  if (!existsSync(program)) {
    mkdirSync(home, { recursive: true })
    const problem =
      install('python3', ['-m', 'venv', home], home) ??
      install(join(home, 'bin/pip'), ['install', '--quiet', 'litellm[proxy]==1.106.2'], home)
    if (problem !== undefined) return `LiteLLM cannot be installed: ${problem}`
  }
  const [port = 0] = await freePorts(1)
  const base = `http://127.0.0.1:${upstream}/v1`
  const params = { model: 'openai/mock-model', api_base: base, api_key: 'sk-provider' }
  const file = join(folder, 'litellm.yaml')
  writeFileSync(
    file,
    stringify({
      model_list: [{ model_name: 'mock-model', litellm_params: params }],
      general_settings: { master_key: MASTER_KEY },
    }),
  )
  const started = start('proxy', 'env', [
    ...['LITELLM_LOCAL_MODEL_COST_MAP=True', 'LITELLM_LOG=ERROR', program],
    ...['--config', file, '--host', '127.0.0.1', '--port', String(port)],
  ])
  await reachable(port, started, 240_000)
  const headers = [`authorization: Bearer ${MASTER_KEY}`]
  return { name: 'LiteLLM', version: '1.106.2', started, port, headers, share: 0.03 }
}

/** Returns the error, if any. */
function install(program: string, args: readonly string[], cwd: string): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? undefined : stderr.trim().split('\n').at(-1)
}
