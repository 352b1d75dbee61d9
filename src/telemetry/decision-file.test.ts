import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { beginningOf, findInFiles, linkAfter, readChainLine } from './decision-chain.ts'
import { verifyChain } from './decision-chain-check.ts'
import { DecisionFile, type DecisionFileOptions } from './decision-file.ts'
import { recordOf } from './fixtures/decision-records.ts'

const root = mkdtempSync(join(tmpdir(), 'portcullis-decisions-'))
after(() => rmSync(root, { recursive: true }))

let folders = 0

function place(options: Partial<DecisionFileOptions> = {}) {
  const folder = mkdtempSync(join(root, `${folders++}-`))
  const path = join(folder, 'decisions.jsonl')
  const failures: string[] = []
  const open = () =>
    DecisionFile.open({
      path,
      maxSize: 1 << 20,
      maxFiles: 100,
      onFailed: (message) => failures.push(message),
      ...options,
    })
  const files = () => readdirSync(folder).map((name) => join(folder, name))
  const write = async (from: number, to: number) => {
    const file = await open()
    for (let i = from; i < to; i++) file.write(recordOf({ id: `id-${i}` }))
    await file.close()
  }
  const lines = () =>
    files()
      .flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'))
      .map((line) => JSON.parse(line))
      .sort((a, b) => a.seq - b.seq)
  return { path, open, files, write, lines, failures }
}

/** The beginning of the next line. */
function nextBeginning(path: string): string {
  const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) as string
  const line = readChainLine(Buffer.from(last))
  assert.ok(typeof line !== 'string')
  return beginningOf(linkAfter(line))
}

describe('the decision file', () => {
  it('is a chain of lines, readable by its owner only', async () => {
    const own = place()
    await own.write(0, 5)
    assert.deepEqual(
      own.lines().map(({ entry }) => entry),
      ['begin', 'decision', 'decision', 'decision', 'decision', 'decision', 'end'],
    )
    assert.equal(statSync(own.path).mode & 0o777, 0o600)
    const report = await verifyChain(own.files())
    assert.deepEqual([report.state, report.notes, report.decisions], ['whole', [], 5])
  })

  it('continues after a restart', async () => {
    const own = place()
    await own.write(0, 3)
    await own.write(3, 5)
    const report = await verifyChain(own.files())
    assert.deepEqual([report.faults, report.decisions], [[], 5])
    assert.deepEqual(
      own.lines().flatMap(({ id }) => id ?? []),
      ['id-0', 'id-1', 'id-2', 'id-3', 'id-4'],
    )
  })

  it('rotates when it is full, with one chain over all files', async () => {
    const own = place({ maxSize: 1_000 })
    for (let i = 0; i < 10; i++) await own.write(i * 5, i * 5 + 5)
    assert.ok(own.files().length > 5)
    const report = await verifyChain(own.files().reverse())
    assert.deepEqual([report.faults, report.notes, report.decisions], [[], [], 50])
  })

  it('keeps the configured number of full files', async () => {
    const own = place({ maxSize: 1_000, maxFiles: 2 })
    for (let i = 0; i < 10; i++) await own.write(i * 5, i * 5 + 5)
    assert.equal(own.files().length, 3)
    const report = await verifyChain(own.files())
    assert.deepEqual(report.faults, [])
    assert.match(report.notes.join(), /begins with line \d+: earlier lines are not in these files/)
  })

  it('continues from the last full file if the newest is gone', async () => {
    const own = place({ maxSize: 400 })
    await own.write(0, 5)
    rmSync(own.path)
    await own.write(5, 6)
    const report = await verifyChain(own.files())
    assert.deepEqual(
      report.faults.map(({ kind }) => kind),
      [],
    )
  })

  it('continues after a partial line of a killed process', async () => {
    const own = place()
    await own.write(0, 3)
    appendFileSync(own.path, `${nextBeginning(own.path)}deci`)
    await own.write(3, 4)
    const report = await verifyChain(own.files())
    assert.deepEqual([report.faults, report.decisions], [[], 4])
    assert.match(report.notes.join(), /left by a process that was killed/)
  })

  it('continues after several partial lines', async () => {
    const own = place()
    await own.write(0, 3)
    const beginning = nextBeginning(own.path)
    appendFileSync(own.path, `${beginning}deci\n${beginning.slice(0, 10)}\n`)
    await own.write(3, 4)
    const report = await verifyChain(own.files())
    assert.deepEqual([report.faults, report.decisions], [[], 4])
    assert.match(report.notes.join(), /left by a process that was killed/)
  })

  it('continues after lines that another process wrote in the meantime', async () => {
    const own = place()
    const [one, other] = [await own.open(), await own.open()]
    for (const file of [one, other, one]) {
      const { size } = statSync(own.path)
      file.write(recordOf())
      while (statSync(own.path).size === size)
        await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await one.close()
    await other.close()
    assert.deepEqual((await verifyChain(own.files())).faults, [])
    assert.equal((await verifyChain(own.files())).decisions, 3)
  })

  it('continues in another file if it was removed, so that the gap is detected', async () => {
    const own = place()
    await own.write(0, 3)
    const file = await own.open()
    rmSync(own.path)
    file.write(recordOf({ id: 'after' }))
    await file.close()
    assert.ok(own.lines().some(({ id }) => id === 'after'))
    const report = await verifyChain(own.files())
    assert.deepEqual(report.faults, [])
    assert.match(report.notes.join(), /begins with line 6: earlier lines are not in these files/)
  })

  it('reports how many records were dropped', async () => {
    const own = place({ capacity: 10 })
    await own.write(0, 25)
    const report = await verifyChain(own.files())
    assert.deepEqual([report.faults, report.decisions, report.dropped], [[], 10, 15])
  })

  it('is searched for an id, in all files', async () => {
    const own = place({ maxSize: 1_000 })
    for (let i = 0; i < 4; i++) await own.write(i * 5, i * 5 + 5)
    assert.deepEqual(await findInFiles(own.files(), 'id-7'), [recordOf({ id: 'id-7' })])
    assert.deepEqual(await findInFiles(own.files(), 'id-99'), [])
  })

  it('is not opened if it is a foreign file', async () => {
    const own = place()
    writeFileSync(own.path, 'precious\n')
    await assert.rejects(own.open(), /not that of a decision file/)
    assert.equal(readFileSync(own.path, 'utf8'), 'precious\n')
  })
})

describe('the check of a chain', () => {
  async function written() {
    const own = place({ maxSize: 1_500 })
    for (let i = 0; i < 4; i++) await own.write(i * 4, i * 4 + 4)
    const head = (await verifyChain(own.files())).head as string
    return { ...own, head }
  }

  const edit = (path: string, change: (lines: string[]) => void) => {
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    change(lines)
    writeFileSync(path, `${lines.join('\n')}\n`)
  }

  const swap = (lines: string[], a: number, b: number) => {
    ;[lines[a], lines[b]] = [lines[b] as string, lines[a] as string]
  }

  for (const [what, change, kinds] of [
    [
      'an edit',
      (lines: string[]) => (lines[2] = lines[2]?.replace('id-1', 'id-9') ?? ''),
      'edited',
    ],
    ['a line that is gone', (lines: string[]) => lines.splice(2, 1), 'missing'],
    [
      'a line that stands twice',
      (lines: string[]) => lines.splice(3, 0, lines[2] as string),
      'order',
    ],
    ['lines that were swapped', (lines: string[]) => swap(lines, 2, 3), 'missing order missing'],
    ['a line of somebody else', (lines: string[]) => lines.splice(2, 0, 'hello'), 'unreadable'],
    ['an end that is gone', (lines: string[]) => lines.splice(-2), 'truncated missing'],
  ] as const) {
    it(`finds ${what}`, async () => {
      const own = await written()
      const [first] = own.files().filter((file) => file !== own.path)
      edit(first as string, change)
      const { faults } = await verifyChain(own.files())
      assert.equal(faults.map(({ kind }) => kind).join(' '), kinds)
    })
  }

  it('detects lines missing at the start of a file', async () => {
    for (const count of [1, 2]) {
      const own = await written()
      const [first] = own.files().filter((file) => file !== own.path)
      edit(first as string, (lines) => lines.splice(0, count))
      const { faults } = await verifyChain(own.files())
      assert.deepEqual(
        faults.map(({ kind, line }) => [kind, line]),
        [['missing', 1]],
      )
    }
  })

  it('detects a file that was emptied', async () => {
    const own = place()
    await own.write(0, 3)
    truncateSync(own.path, 0)
    const { faults } = await verifyChain(own.files())
    assert.deepEqual(
      faults.map(({ kind }) => kind),
      ['truncated'],
    )
  })

  it('detects a missing file', async () => {
    const own = await written()
    const full = own.files().filter((file) => file !== own.path)
    rmSync(full[1] as string)
    const { faults } = await verifyChain(own.files())
    assert.deepEqual(
      faults.map(({ kind }) => kind),
      ['missing'],
    )
  })

  it('detects lines missing at the very end only with the head', async () => {
    const own = await written()
    edit(own.path, (lines) => lines.splice(-1))
    const bare = await verifyChain(own.files())
    assert.deepEqual([bare.faults, bare.state], [[], 'open'])
    assert.match(bare.notes.join(), /lines were removed \(compare the head\)/)
    const { faults } = await verifyChain(own.files(), own.head)
    assert.deepEqual(
      faults.map(({ kind }) => kind),
      ['head'],
    )
  })

  it('accepts an earlier head, whatever was appended', async () => {
    const own = await written()
    await own.write(50, 60)
    assert.deepEqual((await verifyChain(own.files(), own.head)).faults, [])
  })

  it('detects any changed byte, with the head', async () => {
    const own = await written()
    const originals = own.files().map((file) => ({ file, bytes: readFileSync(file) }))
    const property = fc.asyncProperty(
      fc.nat(),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (which, at, by) => {
        const { file, bytes } = originals[which % originals.length] as (typeof originals)[number]
        const changed = Buffer.from(bytes)
        const place = at % bytes.length
        changed[place] = (changed[place] as number) ^ by
        writeFileSync(file, changed)
        const { faults } = await verifyChain(own.files(), own.head)
        writeFileSync(file, bytes)
        assert.notDeepEqual(faults, [])
      },
    )
    await fc.assert(property, fuzz(0.1))
  })

  it('detects any truncation, with the head', async () => {
    const own = await written()
    const size = statSync(own.path).size
    const copy = `${own.path}.copy`
    const bytes = readFileSync(own.path)
    const property = fc.asyncProperty(fc.integer({ min: 0, max: size - 1 }), async (length) => {
      writeFileSync(copy, bytes)
      renameSync(copy, own.path)
      truncateSync(own.path, length)
      assert.notDeepEqual((await verifyChain(own.files(), own.head)).faults, [])
    })
    await fc.assert(property, fuzz(0.05))
  })
})
