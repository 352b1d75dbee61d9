import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { changedLines, comparisonOf, type Lines } from './changed-lines.ts'

describe('changed lines', () => {
  let root = ''
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      stdio: 'pipe',
    })
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  const commit = () => {
    git('add', '-A')
    git('commit', '-q', '-m', 'a change')
  }
  const plain = (lines: Lines) =>
    Object.fromEntries([...lines].map(([path, set]) => [path, [...set]]))

  before(() => {
    root = mkdtempSync(join(tmpdir(), 'changed-lines-'))
    git('init', '-q', '-b', 'main')
    mkdirSync(join(root, 'src'))
    write('src/a.ts', 'one\ntwo\nthree\n')
    write('outside.ts', 'one\n')
    commit()
    write('src/a.ts', 'one\n2\nthree\nfour\n')
    commit()
  })
  after(() => rmSync(root, { recursive: true }))

  it('are those of the last commit if nothing else is known', () => {
    assert.deepEqual(comparisonOf(root, ''), { base: 'HEAD~1', revision: undefined })
    assert.deepEqual(plain(changedLines(root, comparisonOf(root, ''))), { 'src/a.ts': [2, 4] })
  })

  it('include the working tree and new files of src', () => {
    write('src/a.ts', '1\n2\nthree\nfour\n')
    write('src/new.ts', 'one')
    write('outside.ts', 'two\n')
    const lines = changedLines(root, comparisonOf(root, 'HEAD'))
    assert.deepEqual(plain(lines), { 'src/a.ts': [1], 'src/new.ts': [1] })
  })

  it('of a range are those between its revisions, whatever is in the working tree', () => {
    const comparison = comparisonOf(root, 'HEAD~1..HEAD')
    assert.deepEqual(comparison, { base: 'HEAD~1', revision: 'HEAD' })
    assert.deepEqual(plain(changedLines(root, comparison)), { 'src/a.ts': [2, 4] })
  })

  it('begin where the branch left origin/main', () => {
    git('checkout', '-q', '--', '.')
    git('update-ref', 'refs/remotes/origin/main', 'HEAD~1')
    const first = git('rev-parse', 'HEAD~1').toString().trim()
    assert.equal(comparisonOf(root, '').base, first)
  })
})
