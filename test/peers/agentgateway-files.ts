import { globSync, readFileSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { hasErrors } from '../../src/diagnostics/result.ts'
import { loadText } from '../../src/sources/file/load.ts'

/*
 * `node test/peers/agentgateway-files.ts FOLDER [--list]`, by hand: how many of the configurations
 * for agentgateway in a folder, among them blocks in Markdown, load here, and what is wrong with the
 * others. Files and variables that they name are not there, and that is not held against them.
 */
const [folder, ...options] = process.argv.slice(2)
if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
  console.error('name a folder with configurations for agentgateway')
  process.exit(2)
}
const isListed = options.includes('--list')

/** One of these at the top makes a file a configuration of the gateway. */
const OUTLINE = ['binds', 'gateways', 'routes', 'llm', 'mcp', 'config', 'frontendPolicies']
/** Manifests, compositions of containers, schemas, values of charts. */
const OTHERS = ['apiVersion', 'services', '$schema', 'image', 'router', 'global', 'resources']
const ELSEWHERE: ReadonlySet<string> = new Set(['PC0204', 'PC0310'])

interface Found {
  readonly name: string
  readonly text: string
}

const found = globSync('**/*.{yaml,yml,json,md,mdx}', { cwd: folder })
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true)
  .sort()
  .flatMap((file) => configurationsIn(file, readFileSync(join(folder, file), 'utf8')))
const reasons = new Map<string, string[]>()
const counts = { clean: 0, warned: 0, rejected: 0 }
for (const { name, text } of found) {
  const { diagnostics } = loadText(text, join(resolve(folder), name), { environment: {} }).result
  const own = diagnostics.filter(({ code }) => !ELSEWHERE.has(code))
  const errors = own.filter(({ severity }) => severity === 'error')
  if (hasErrors(own)) counts.rejected++
  else if (own.some(({ severity }) => severity === 'warning')) counts.warned++
  else counts.clean++
  for (const reason of new Set(errors.map(({ code, message }) => `${code} ${message}`))) {
    reasons.set(reason, [...(reasons.get(reason) ?? []), name])
  }
}

const accepted = counts.clean + counts.warned
const share = found.length === 0 ? 0 : (100 * accepted) / found.length
const sorted = [...reasons].sort(([, one], [, other]) => other.length - one.length)
for (const [reason, files] of sorted) {
  console.log(`${String(files.length).padStart(4)}  ${reason}`)
  if (isListed) for (const file of files) console.log(`        ${file}`)
}
console.log(
  `${accepted} of ${found.length} configurations load (${share.toFixed(1)} %), ` +
    `${counts.warned} of them with warnings; ${counts.rejected} are rejected`,
)

/** The file itself, or the blocks of a page; equal ones once. */
function configurationsIn(file: string, text: string): readonly Found[] {
  const name = relative('.', file)
  if (!/\.mdx?$/.test(file)) return isConfiguration(text) ? [{ name, text }] : []
  const blocks = [...text.matchAll(/^([ \t]*)```ya?ml[^\n]*\n([\s\S]*?)^[ \t]*```/gm)]
  return blocks
    .map(([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .filter(isConfiguration)
    .map((block, index) => ({ name: `${name}#${index + 1}`, text: block }))
}

function isConfiguration(text: string): boolean {
  const [first, ...more] = parseAllDocuments(text)
  if (first === undefined || more.length > 0 || !('errors' in first)) return false
  if (first.errors.length > 0) return false
  const value = first.toJS() as unknown
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  if (OTHERS.some((key) => key in value)) return false
  return OUTLINE.some((key) => key in value)
}
