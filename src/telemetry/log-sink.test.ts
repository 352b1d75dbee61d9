import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogSink, type LogSink, type LogSinkOptions } from './log-sink.ts'

const folder = mkdtempSync(join(tmpdir(), 'log-sink-'))
after(() => rmSync(folder, { recursive: true }))

/** A sink to a file; `read` returns what it has written so far. */
function sinkToFile(options: LogSinkOptions = {}) {
  const path = join(folder, `${Math.random()}.log`)
  const fd = openSync(path, 'a')
  const sink = createLogSink({ ...options, fd })
  const close = () => {
    sink.close()
    closeSync(fd)
  }
  return { sink, read: () => readFileSync(path, 'utf8'), close }
}

function flushed(sink: LogSink): Promise<void> {
  return new Promise((resolve) => sink.flush(resolve))
}

describe('the log sink', () => {
  it('writes on a timer', async () => {
    const { sink, read, close } = sinkToFile({ interval: 5 })
    sink.write('a\n')
    sink.write('Zoë\n')
    assert.equal(read(), '')
    while (read() === '') await sleep(2)
    assert.equal(read(), 'a\nZoë\n')
    close()
  })

  it('writes a full batch at once', async () => {
    const { sink, read, close } = sinkToFile({ interval: 60_000, batch: 10 })
    sink.write('0123456789\n')
    while (read() === '') await sleep(1)
    assert.equal(read(), '0123456789\n')
    close()
  })

  it('writes all lines in order when flushed', async () => {
    const { sink, read, close } = sinkToFile({ interval: 60_000, batch: 1000 })
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}\n`)
    for (const [i, line] of lines.entries()) {
      sink.write(line)
      if (i % 700 === 0) await sleep(1)
    }
    await flushed(sink)
    assert.equal(read(), lines.join(''))
    await flushed(sink)
    close()
  })

  it('writes the rest when it is closed, and nothing after', async () => {
    const { sink, read, close } = sinkToFile({ interval: 60_000 })
    sink.write('last\n')
    sink.close()
    assert.equal(read(), 'last\n')
    sink.write('late\n')
    await flushed(sink)
    assert.equal(sink.dropped(), 1)
    close()
  })

  it('drops lines when full, counts them, and reports that when it can', async () => {
    const reported: number[] = []
    const drops = { count: 0, inc: (lines: number) => void (drops.count += lines) }
    const { sink, read, close } = sinkToFile({
      capacity: 100,
      interval: 60_000,
      drops,
      onDropped: (lines) => reported.push(lines),
    })
    for (let i = 0; i < 30; i++) sink.write('123456789\n')
    assert.equal(drops.count, 20)
    assert.deepEqual(reported, [])
    await flushed(sink)
    assert.deepEqual(reported, [20])
    sink.write('more\n')
    await flushed(sink)
    assert.deepEqual(reported, [20])
    assert.equal(read().split('\n').length - 1, 11)
    close()
  })

  it('continues if the file cannot be written', async () => {
    const fd = openSync('/dev/full', 'w')
    const sink = createLogSink({ fd })
    sink.write('a\nb\n')
    await flushed(sink)
    assert.equal(sink.dropped(), 2)
    sink.write('c\n')
    await flushed(sink)
    assert.equal(sink.dropped(), 3)
    sink.close()
    closeSync(fd)
  })
})

describe('a process that logs to a pipe', () => {
  it('loses no line when it exits', async () => {
    const child = logging('write(3000); process.exit(7)')
    const text = await readAll(child)
    assert.equal(text.trimEnd().split('\n').length, 3000)
    assert.equal(child.exitCode, 7)
  })

  it('loses no line to a slow reader when it exits, as long as the reader makes progress', async () => {
    const child = logging('write(5_000); process.exit(7)', { maxSilence: 60_000 })
    await sleep(200)
    let lines = 0
    child.stdout?.on('data', (bytes: Buffer) => {
      lines += bytes.toString('latin1').split('\n').length - 1
      child.stdout?.pause()
      setTimeout(() => child.stdout?.resume(), 20)
    })
    await once(child, 'close')
    assert.equal(lines, 5_000)
    assert.equal(child.exitCode, 7)
  })

  it('is not blocked by a reader that never reads, not even on exit', async () => {
    const script = `
      write(100_000)
      setTimeout(() => { console.error(sink.dropped() > 0); process.exit(0) }, 100)
    `
    const child = logging(script, { maxSilence: 100 })
    const errors = readErrors(child)
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
    assert.equal(await errors, 'true\n')
    child.stdout?.destroy()
  })

  it('holds nothing back once a slow reader resumes', async () => {
    const child = logging('write(5000); setTimeout(write, 200, 1); setTimeout(() => {}, 600_000)')
    await sleep(100)
    let lines = 0
    child.stdout?.on('data', (bytes: Buffer) => {
      lines += bytes.toString('latin1').split('\n').length - 1
    })
    for (let i = 0; i < 6_000 && lines < 5_001; i++) await sleep(10)
    child.kill('SIGKILL')
    assert.equal(lines, 5_001)
  })

  it('continues without its log when the reader is gone', async () => {
    const child = logging(`
      write(1)
      setTimeout(() => {
        write(1)
        sink.flush(() => { console.error(sink.dropped()); process.exit(0) })
      }, 50)
    `)
    child.stdout?.destroy()
    assert.match(await readErrors(child), /^[12]\n$/)
  })

  it('writes whole lines if it shares the pipe', async () => {
    const child = logging('write(500); sink.flush(() => process.exit(0))', { piece: 4096 })
    const text = await readAll(child)
    assert.equal(text.trimEnd().split('\n').length, 500)
  })
})

/** A process with a sink and `write(lines)`, of 100 bytes each. */
function logging(code: string, options: LogSinkOptions = {}): ChildProcess {
  const module = JSON.stringify(import.meta.resolve('./log-sink.ts'))
  const program = `
    import { createLogSink } from ${module}
    const sink = createLogSink({ interval: 5, ...${JSON.stringify(options)} })
    const write = (lines) => {
      for (let i = 0; i < lines; i++) sink.write(String(i).padEnd(99, '.') + '\\n')
    }
    ${code}
  `
  const args = ['--input-type=module', '--eval', program]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function readAll(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    for (const line of chunk.match(/\n[^\n]{1,98}(?=\n)/g) ?? [])
      assert.fail(`a broken line ${line}`)
    text += chunk
  })
  await once(child, 'close')
  return text
}

async function readErrors(child: ChildProcess): Promise<string> {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await once(child.stderr as NodeJS.ReadableStream, 'end')
  return text
}
