import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const pages = globSync(['*.md', '{docs,examples,charts,bench,src,ui}/**/*.md'], {
  cwd: ROOT,
}).sort()

const MAX_WORDS = 2500

describe('the documentation', () => {
  for (const page of pages) {
    it(`${page} links to pages and headings that exist`, () => {
      assert.deepEqual(brokenLinks(page, readFileSync(join(ROOT, page), 'utf8')), [])
    })
  }

  it('finds a broken link', () => {
    const text = '[a](ARCHITECTURE.md) [b](no.md#x) [c](README.md#nowhere) `[d](no.md)`'
    assert.deepEqual(brokenLinks('README.md', text), ['no.md#x', 'README.md#nowhere'])
  })

  for (const line of ['npm ci && npm start', 'npm ci && npm test']) {
    it(`README.md has the line "${line}"`, () => {
      assert.ok(readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n').includes(line))
    })
  }

  it('ARCHITECTURE.md can be read in a quarter of an hour, and leads to every page about the code', () => {
    const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
    assert.ok(
      text.split(/\s+/).length <= MAX_WORDS,
      'move what is about one folder to its README.md',
    )
    const papers = globSync('{src,ui}/**/README.md', { cwd: ROOT })
    assert.deepEqual(
      papers.filter((page) => !text.includes(`(${page})`)),
      [],
    )
  })

  it('DEVELOPMENT.md describes every npm script', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const text = readFileSync(join(ROOT, 'DEVELOPMENT.md'), 'utf8')
    const isDescribed = (name: string) => text.match(`\\n\\| \`npm (run )?${name}\\b`) !== null
    assert.deepEqual(
      Object.keys(scripts).filter((name) => !isDescribed(name)),
      [],
    )
  })
})

/** Broken relative links of the page; links in code are ignored. */
function brokenLinks(page: string, text: string): readonly string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '')
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [path = '', heading] = link.split('#')
    const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path)
    if (!existsSync(target)) return true
    return heading !== undefined && !headingsOf(target).includes(heading)
  })
}

/** GitHub's anchors: lower case, spaces replaced by hyphens, punctuation removed. */
function headingsOf(file: string): readonly string[] {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
