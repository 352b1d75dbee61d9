import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { CHAIN_FORMAT, chainLine, FIRST_LINK } from './decision-chain.ts'
import { verifyChain } from './decision-chain-check.ts'
import { DecisionFile } from './decision-file.ts'
import { recordOf } from './fixtures/decision-records.ts'

const root = mkdtempSync(join(tmpdir(), 'portcullis-chain-'))
after(() => rmSync(root, { recursive: true }))

const copy = join(root, 'copy.jsonl')

/** A log of this many runs of a gateway, in one file unless it reaches its max size. */
async function logOf(name: string, runs: number, maxSize = 1 << 20): Promise<readonly Buffer[]> {
  const folder = mkdtempSync(join(root, `${name}-`))
  const path = join(folder, 'decisions.jsonl')
  for (let run = 0; run < runs; run++) {
    const file = await DecisionFile.open({ path, maxSize, maxFiles: 100, onFailed: assert.fail })
    for (let i = 0; i < 3; i++) file.write(recordOf({ id: `${name}-${run}-${i}` }))
    await file.close()
  }
  const files = readdirSync(folder).sort()
  return [...files.slice(1), ...files.slice(0, 1)].map((file) => readFileSync(join(folder, file)))
}

async function check(...files: readonly (Buffer | string)[]) {
  const paths = files.map((bytes, i) => {
    const path = i === 0 ? copy : `${copy}.${i}`
    writeFileSync(path, bytes)
    return path
  })
  return verifyChain(paths)
}

const LINE_BREAK = 10
const lines = (bytes: Buffer): string[] => bytes.toString().trimEnd().split('\n')
const joined = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('')

describe('the check of a chain, for invalid and damaged logs', () => {
  let log: Buffer
  let other: Buffer

  before(async () => {
    log = (await logOf('log', 2))[0] as Buffer
    other = (await logOf('other', 3))[0] as Buffer
    assert.equal((await check(log)).state, 'whole')
  })

  for (const [what, bytes] of [
    ['nothing', ''],
    ['a line break', '\n'],
    ['many line breaks', '\n'.repeat(40)],
    ['lines of garbage', 'garbage\n'.repeat(10)],
    ['garbage without a line break', 'garbage'],
    ['prose', 'It was the best of times,\nit was the worst of times.\n'],
    ['other JSON lines', '{"level":"info"}\n{"level":"warn"}\n'],
    ['lines of the right names', '{"seq":0,"prev":"","entry":"begin"}\n'],
    ['the beginning of a line alone', `{"seq":0,"prev":"${'0'.repeat(64)}","entry":"beg`],
    ['a null byte', '\0'],
  ] as const) {
    it(`calls ${what} broken`, async () => {
      const { state, faults } = await check(bytes)
      assert.equal(state, 'broken')
      assert.notDeepEqual(faults, [])
    })
  }

  it('reports a log of garbage lines as broken', async () => {
    assert.equal((await check('garbage\n'.repeat(lines(log).length))).state, 'broken')
  })

  it('reports a log without its first line as broken', async () => {
    assert.equal((await check(joined(lines(log).slice(1)))).state, 'broken')
  })

  it('detects an edit of the last line of a log that was not closed', async () => {
    const open = lines(log).slice(0, -1)
    const last = open.length - 1
    assert.equal((await check(joined(open))).state, 'open')
    const edited = open.with(last, (open[last] as string).replace('denied', 'allowed'))
    assert.notEqual(edited[last], open[last])
    const { state, faults } = await check(joined(edited))
    assert.equal(state, 'broken')
    assert.deepEqual(
      faults.map(({ kind, line }) => [kind, line]),
      [['edited', last + 1]],
    )
  })

  it('reports how far a log is intact that was not closed', async () => {
    const open = lines(log).slice(0, -1)
    const { state, intactUpTo, lines: count } = await check(joined(open))
    assert.deepEqual([state, intactUpTo, count], ['open', `${copy}:${open.length}`, open.length])
  })

  it('does not accept another format, even if its digests are right', async () => {
    for (const [format, kinds] of [
      [CHAIN_FORMAT, []],
      [CHAIN_FORMAT + 1, ['unreadable']],
      [undefined, ['unreadable']],
    ] as const) {
      const { line } = chainLine(FIRST_LINK, 'begin', { time: '2026-01-02T03:04:05Z', format })
      const { faults } = await check(`${String(line).trimEnd()}\n`)
      assert.deepEqual(
        faults.map(({ kind }) => kind),
        kinds,
      )
    }
  })

  it('counts lines and decisions, however many of them are missing', async () => {
    const whole = lines(log)
    for (let kept = 1; kept <= whole.length; kept++) {
      const report = await check(joined(whole.slice(0, kept)))
      const entries = whole.slice(0, kept).map((line) => JSON.parse(line).entry)
      const decisions = entries.filter((entry) => entry === 'decision').length
      assert.deepEqual([report.lines, report.decisions, report.dropped], [kept, decisions, 0])
    }
    assert.equal((await check(log)).decisions, 6)
  })

  it('accepts no other line as the remains of a killed process', async () => {
    const whole = lines(log)
    const end = whole.length - 1
    for (const left of ['garbage', '{}', '{"seq":3}', `${(whole[2] as string).slice(0, -3)}`]) {
      const path = join(mkdtempSync(join(root, 'left-')), 'decisions.jsonl')
      writeFileSync(path, `${joined(whole.slice(0, end))}${left}`)
      const options = { path, maxSize: 1 << 20, maxFiles: 9, onFailed: assert.fail }
      await (await DecisionFile.open(options)).close()
      assert.equal((await verifyChain([path])).state, 'broken', left)
    }
  })

  it('detects a change in the remains of a killed process', async () => {
    const whole = lines(log)
    const end = whole.length - 1
    const path = join(mkdtempSync(join(root, 'left-')), 'decisions.jsonl')
    const left = (whole[end] as string).slice(0, -90)
    writeFileSync(path, `${joined(whole.slice(0, end))}${left}`)
    const options = { path, maxSize: 1 << 20, maxFiles: 9, onFailed: assert.fail }
    await (await DecisionFile.open(options)).close()
    assert.equal((await verifyChain([path])).state, 'whole')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(left, `${left.slice(0, -1)}~`))
    assert.equal((await verifyChain([path])).state, 'broken')
  })

  it('detects two logs that were spliced, appended or passed together', async () => {
    const [own, theirs] = [lines(log), lines(other)]
    for (let at = 1; at < own.length; at++) {
      const spliced = [...own.slice(0, at), ...theirs.slice(at)]
      assert.equal((await check(joined(spliced))).state, 'broken', `at ${at}`)
    }
    assert.equal((await check(Buffer.concat([log, other]))).state, 'broken')
    assert.equal((await check(Buffer.concat([log, log]))).state, 'broken')
    assert.equal((await check(log, other)).state, 'broken')
    assert.equal((await check(log, log)).state, 'broken')
  })

  it('detects files of one chain that were concatenated', async () => {
    const files = await logOf('rotated', 4, 1_000)
    assert.ok(files.length > 2)
    assert.equal((await check(...files)).state, 'whole')
    assert.equal((await check(Buffer.concat(files))).state, 'broken')
  })

  it('never reports a truncated log as whole, unless it was closed at that point', async () => {
    const closed = new Set([log.length])
    for (let at = 0; at < log.length; at++) {
      const ended = log.subarray(0, at).toString()
      if (/"entry":"end".*\n$/.test(ended.slice(ended.lastIndexOf('\n', at - 2) + 1)))
        closed.add(at)
    }
    assert.equal(closed.size, 2)
    for (let at = 0; at < log.length; at++) {
      // Around the ends of lines, and at some places in the middle.
      if (!log.subarray(Math.max(0, at - 3), at + 3).includes(LINE_BREAK) && at % 7 > 0) continue
      const { state } = await check(log.subarray(0, at))
      assert.equal(state === 'whole', closed.has(at), `cut at ${at} of ${log.length}: ${state}`)
    }
  })

  it('does not accept an edited last line as one being written', async () => {
    const last = log.lastIndexOf('\n', log.length - 2) + 1
    for (let at = last; at < log.length - 1; at++) {
      const changed = Buffer.from(log)
      changed[at] = (changed[at] as number) ^ 1
      assert.equal((await check(changed)).state, 'broken', `byte ${at - last} of the last line`)
    }
  })

  it('never reports a log with a changed byte as whole or intact', async () => {
    const property = fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (at, by) => {
        const changed = Buffer.from(log)
        const place = at % log.length
        changed[place] = (changed[place] as number) ^ by
        // Without its line break, the last line counts as unfinished.
        const expected = place === log.length - 1 ? 'open' : 'broken'
        const { state } = await check(changed)
        assert.ok(state === expected || state === 'broken', `byte ${place} by ${by}: ${state}`)
      },
    )
    await fc.assert(property, fuzz(0.3))
  })

  it('never reports a log with changed lines as whole', async () => {
    const whole = lines(log)
    const place = fc.nat(whole.length - 1)
    const mutation = fc.oneof(
      fc.record({ kind: fc.constant('remove' as const), at: place }),
      fc.record({ kind: fc.constant('repeat' as const), at: place, to: place }),
      fc.record({ kind: fc.constant('swap' as const), at: place, to: place }),
      fc.record({ kind: fc.constant('insert' as const), at: place, text: fc.string() }),
      fc.record({
        kind: fc.constant('edit' as const),
        at: place,
        from: fc.nat(),
        text: fc.string(),
      }),
      fc.record({ kind: fc.constant('theirs' as const), at: place, to: place }),
    )
    const property = fc.asyncProperty(
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      async (all) => {
        const changed = [...whole]
        for (const one of all) {
          const line = changed[one.at] ?? ''
          if (one.kind === 'remove') changed.splice(one.at, 1)
          else if (one.kind === 'repeat') changed.splice(one.to, 0, line)
          else if (one.kind === 'swap')
            [changed[one.at], changed[one.to]] = [changed[one.to] ?? '', line]
          else if (one.kind === 'insert') changed.splice(one.at, 0, one.text)
          else if (one.kind === 'theirs') changed[one.at] = lines(other)[one.to] as string
          else {
            const from = one.from % (line.length + 1)
            changed[one.at] = line.slice(0, from) + one.text + line.slice(from + one.text.length)
          }
        }
        const bytes = Buffer.from(joined(changed))
        const { state } = await check(bytes)
        const isPrefix = log.subarray(0, bytes.length).equals(bytes)
        if (!isPrefix) assert.notEqual(state, 'whole', JSON.stringify(all))
      },
    )
    await fc.assert(property, fuzz(0.3))
  })
})
