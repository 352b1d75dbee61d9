import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FIRST_MINUTE, linesToType } from '../tools/recording/first-minute.ts'

const ROOT = join(import.meta.dirname, '..')

describe('the recording of the first minute', () => {
  const [header = '', ...lines] = readFileSync(join(ROOT, FIRST_MINUTE), 'utf8').trim().split('\n')
  const events = lines.map((line) => JSON.parse(line) as [number, string, string])

  it('is an asciicast whose timestamps increase', () => {
    assert.equal(JSON.parse(header).version, 2)
    const times = events.map(([time]) => time)
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    assert.ok(events.every(([, kind]) => kind === 'o'))
  })

  it('types the lines of the README: record it again when they change', () => {
    const shown = events.map(([, , text]) => text).join('')
    const typed = [...shown.matchAll(/^\$ (.*?)\r$/gm)].map(([, line]) => line)
    assert.deepEqual(typed, linesToType(readFileSync(join(ROOT, 'README.md'), 'utf8')))
  })

  it('shows the statuses that the README promises', () => {
    const shown = events.map(([, , text]) => text).join('')
    for (const line of linesToType(readFileSync(join(ROOT, 'README.md'), 'utf8'))) {
      const [, status] = /^curl -i .* # (\d{3})/.exec(line) ?? []
      if (status === undefined) continue
      const at = shown.indexOf(`$ ${line}\r\n`)
      assert.ok(shown.slice(at + line.length + 4).startsWith(`HTTP/1.1 ${status} `), line)
    }
  })
})
