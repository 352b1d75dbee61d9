import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { renderNotices } from '../../tools/notices.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCS = join(ROOT, 'docs')
/** Base URL for links to repository files that are not pages. */
const REPOSITORY = 'https://github.com/portcullis-dev/portcullis/blob/main'

/** Folders of docs/, in sidebar order. */
const SECTIONS = [
  ['Getting started', 'getting-started'],
  ['Cookbook', 'cookbook'],
  ['Coming from another gateway', 'migrate'],
  ['Tasks', 'tasks'],
  ['Reference', 'reference'],
  ['Messages', 'errors'],
  ['Decisions', 'adr'],
] as const

/** Files bundled into the site, relative to the repository root. */
const inputs = new Set<string>()

// biome-ignore lint/style/noDefaultExport: VitePress requires a default export
export default defineConfig({
  title: 'Portcullis',
  description: 'An authorization-first gateway for HTTP, LLM, MCP and agent traffic',
  lang: 'en',
  base: process.env['SITE_BASE'] ?? '/',
  srcDir: '../docs',
  outDir: process.env['SITE_OUT'] ?? '../.cache/site',
  cacheDir: '../.cache/vitepress',
  cleanUrls: false,
  ignoreDeadLinks: 'localhostLinks',
  // Keeps builds reproducible: the same sources produce the same bytes.
  lastUpdated: false,
  // Pages enter the search index in the order in which they finish building.
  buildConcurrency: 1,
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  vite: {
    // No files besides the pages, in particular none of ui/public.
    publicDir: false,
    build: { target: 'es2022', chunkSizeWarningLimit: 4_000 },
    esbuild: { target: 'es2022' },
    server: { fs: { allow: [ROOT] } },
    plugins: [
      {
        name: 'notices',
        generateBundle(_, bundle) {
          const chunks = Object.values(bundle).filter((one) => one.type === 'chunk')
          for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
            const [file = ''] = id.split('?', 1)
            if (file.startsWith(ROOT)) inputs.add(file.slice(ROOT.length))
          }
        },
      },
    ],
  },
  buildEnd: ({ outDir }) => {
    writeFileSync(join(outDir, 'NOTICES.md'), renderNotices(ROOT, [...inputs]))
  },
  markdown: {
    // Braces in headings belong to admin API paths.
    attrs: { disable: true },
    anchor: { slugify: slugOf },
    languageAlias: { cel: 'javascript' },
    // With a time limit, a slow machine leaves the end of a line without highlighting.
    shikiSetup: (shiki) => {
      const { codeToHtml } = shiki
      shiki.codeToHtml = (code, options) => codeToHtml(code, { ...options, tokenizeTimeLimit: 0 })
    },
    config: (markdown) => {
      const normalizeLink = markdown.normalizeLink.bind(markdown)
      markdown.core.ruler.push('links-to-the-repository', (state) => {
        const page = (state.env as { readonly relativePath?: string }).relativePath ?? ''
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === 'link_open' ? token.attrGet('href') : null
          if (href !== null) token.attrSet('href', normalizeLink(linkFrom(page, href)))
        }
      })
    },
  },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/getting-started/' },
      { text: 'Cookbook', link: '/cookbook/' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Playground', link: '/playground' },
    ],
    sidebar: [
      ...SECTIONS.map(([text, folder]) => sectionOf(text, folder)),
      { text: 'Playground', link: '/playground' },
    ],
    outline: { level: [2, 3] },
    // The search index is part of the site, so queries stay in the browser.
    search: { provider: 'local' },
  },
})

function sectionOf(text: string, folder: string): DefaultTheme.SidebarItem {
  const pages = globSync(`${folder}/*.md`, { cwd: DOCS })
    .filter((page) => !page.endsWith('README.md'))
    .sort()
  const items = pages.map((page) => {
    const [, title = page] = /^# (.*)$/m.exec(readFileSync(join(DOCS, page), 'utf8')) ?? []
    return { text: title.replaceAll('`', ''), link: `/${page.replace(/\.md$/, '')}` }
  })
  const link = `/${folder}/`
  return items.length === 0 ? { text, link } : { text, link, collapsed: true, items }
}

/** Generates heading anchors the same way as the repository's own pages. */
function slugOf(title: string): string {
  const plain = title.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
  return plain.trim().replaceAll(/\s/g, '-')
}

/** Links to pages stay as they are; links to other files point to the repository. */
function linkFrom(page: string, href: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [path = '', fragment] = href.split('#')
  const source = page.replace(/(^|\/)index\.md$/, '$1README.md')
  const target = normalize(join(dirname(source), path))
  if (!target.startsWith('..') && target.endsWith('.md')) return href
  const file = normalize(join('docs', target))
  if (!existsSync(join(ROOT, file))) throw new Error(`docs/${source}: ${href} leads nowhere`)
  return `${REPOSITORY}/${file}${fragment === undefined ? '' : `#${fragment}`}`
}
