import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * `unshare --net node test/release/newcomer.ts TASK`: the steps of a user who has installed one
 * artefact and has no repository. It runs in its own network namespace, so that the ports on the
 * pages are free. It prints the result of each step as a line of JSON.
 */

/** The steps, as JSON in a file. */
export interface NewcomerTask {
  /** The working folder; each page gets a subfolder. */
  readonly folder: string
  /** The whole environment; `portcullis` is on its PATH. */
  readonly environment: Readonly<Record<string, string>>
  /** Lines of the README's first minute, with the results that they promise. */
  readonly lines: readonly string[]
  readonly pages: readonly NewcomerPage[]
}

export interface NewcomerPage {
  readonly name: string
  readonly files: Readonly<Record<string, string>>
}

export interface NewcomerStep {
  readonly page: string
  readonly isDone: boolean
  readonly said: string
}

const TIMEOUT_MS = 120_000
const READY = 'http://127.0.0.1:15021/healthz/ready'

if (process.argv[2] !== undefined) await run(process.argv[2])

async function run(file: string): Promise<void> {
  const task = JSON.parse(readFileSync(file, 'utf8')) as NewcomerTask
  spawnSync('ip', ['link', 'set', 'lo', 'up'])
  const folder = (name: string) => {
    const path = join(task.folder, name.replace(/\W/g, '-'))
    mkdirSync(path, { recursive: true })
    // An image has its own user.
    chmodSync(path, 0o777)
    return path
  }
  const shell = (line: string, cwd: string) =>
    spawnSync('sh', ['-c', line], {
      cwd,
      env: task.environment,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
    })

  const first = folder('first-minute')
  for (const line of ['portcullis version', 'portcullis help', 'portcullis explain PC0107']) {
    report(line, shell(line, first))
  }
  for (const name of ['bash', 'zsh', 'fish']) {
    report(`portcullis completion ${name}`, shell(`portcullis completion ${name}`, first))
  }
  // Node's own warnings about the environment must not reach users.
  const quiet = shell('NO_COLOR=1 FORCE_COLOR=1 portcullis version 2>&1 >/dev/null', first)
  write({ page: 'nothing of Node', isDone: quiet.stdout === '', said: quiet.stdout })
  await firstMinute(task, first, shell)
  for (const kind of ['http', 'llm', 'mcp']) {
    const own = `${kind}.yaml`
    report(`portcullis init ${kind}`, shell(`portcullis init ${kind} -f ${own}`, first))
    report(`portcullis check ${own}`, shell(`portcullis check ${own}`, first))
  }
  for (const { name, files } of task.pages) {
    const own = folder(name)
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(own, path, '..'), { recursive: true })
      writeFileSync(join(own, path), text, { mode: 0o644 })
    }
    report(`${name}: check`, shell('portcullis check gateway.yaml', own))
    if (files['test.yaml'] !== undefined) {
      report(`${name}: test`, shell('portcullis test test.yaml', own))
    }
  }
}

type Shell = (line: string, cwd: string) => SpawnSyncReturns<string>

/** Serves the example, and types every line beside it. */
async function firstMinute(task: NewcomerTask, cwd: string, shell: Shell): Promise<void> {
  const gateway = spawn('portcullis', ['demo'], { cwd, env: task.environment, stdio: 'pipe' })
  let said = ''
  gateway.on('error', (error) => (said += error.message))
  for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', (text) => (said += text))
  const isReady = await until(READY)
  write({ page: 'README: portcullis demo', isDone: isReady, said: isReady ? '' : said })
  if (isReady) for (const line of task.lines) typeLine(line, cwd, shell)
  const ended = new Promise<number | null>((resolve) => gateway.once('exit', resolve))
  gateway.kill('SIGTERM')
  const code = await Promise.race([
    ended,
    new Promise<number>((end) => setTimeout(end, TIMEOUT_MS, -1)),
  ])
  write({ page: 'README: it stops', isDone: code === 0, said: `exit code ${code}\n${said}` })
  if (code === -1) gateway.kill('SIGKILL')
}

/** `curl … # 403: why`: the status must match; without a comment there must be some output. */
function typeLine(line: string, cwd: string, shell: Shell): void {
  const [, command = line, status] = /^(.*?)\s+# (\d{3})?/s.exec(line) ?? []
  const isCurl = command.startsWith('curl')
  const {
    stdout,
    stderr,
    status: code,
  } = shell(isCurl ? command.replace(/^curl/, "curl -w '\\n%{http_code}' -m 30") : command, cwd)
  const seen = stdout.trim().split('\n').at(-1)
  const isRight = status === undefined ? stdout.trim() !== '' : seen === status
  const isDone = code === 0 && isRight && seen !== '000'
  write({ page: `README: ${command}`, isDone, said: isDone ? '' : `${code}: ${stdout}${stderr}` })
}

async function until(url: string): Promise<boolean> {
  const end = Date.now() + TIMEOUT_MS
  while (Date.now() < end) {
    const response = await fetch(url).catch(() => undefined)
    if (response?.status === 200) return true
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return false
}

function report(page: string, { status, stdout, stderr }: SpawnSyncReturns<string>): void {
  write({ page, isDone: status === 0, said: status === 0 ? '' : `${status}: ${stdout}${stderr}` })
}

function write(step: NewcomerStep): void {
  process.stdout.write(`${JSON.stringify(step)}\n`)
}
