import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseAllDocuments } from 'yaml'
import { STAND_INS } from '../../src/cli/convert/stand-ins.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { hasErrors } from '../../src/diagnostics/result.ts'
import { loadText } from '../../src/sources/file/load.ts'

/*
 * `node test/peers/agentgateway-files.ts FOLDER [--list] [--write FOLDER]`, for the test of the
 * same name and for manual use: reports how many of the configurations for agentgateway in a folder
 * load here, and what is wrong with the others. Markdown pages contain them as YAML blocks and as
 * shell here-documents; duplicates count once. If the folder contains the schema of agentgateway
 * itself (`schema/config.json`), only configurations that are valid against it count: fragments,
 * values of its chart and collector configurations do not. Missing referenced files are not counted
 * as errors, and variables get suitable stand-in values. `--write` writes each configuration to its
 * own file for inspection.
 */
const [folder, ...options] = process.argv.slice(2)
if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
  console.error('name a folder with configurations for agentgateway')
  process.exit(2)
}
const isListed = options.includes('--list')
const kept = options.includes('--write') ? options[options.indexOf('--write') + 1] : undefined

/** A file with one of these top-level keys is a gateway configuration. */
const OUTLINE = ['binds', 'gateways', 'routes', 'llm', 'mcp', 'config', 'frontendPolicies']
/** Keys of manifests, Compose files, schemas, chart values and other programs. */
const OTHERS =
  'apiVersion $schema image router global resources version receivers models model_list domain'
    .split(' ')
    .concat('scrape_configs', 'controller', 'nodes', 'name', 'spec')
const ELSEWHERE = 'PC0310'

interface Found {
  readonly name: string
  readonly text: string
}

const all = globSync('**/*.{yaml,yml,json,md,mdx}', { cwd: folder })
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true)
  .sort()
  .flatMap((file) => configurationsIn(file, readFileSync(join(folder, file), 'utf8')))
const isValid = peerSchema()
const found = [...new Map(all.map((one) => [contentOf(one.text), one])).values()].filter(
  ({ text }) => isValid(parseAllDocuments(text)[0]?.toJS()),
)
if (kept !== undefined) {
  mkdirSync(kept, { recursive: true })
  for (const { name, text } of found) writeFileSync(join(kept, name.replaceAll('/', '~')), text)
}
const reasons = new Map<string, string[]>()
const counts = { clean: 0, warned: 0, rejected: 0 }
for (const { name, text } of found) {
  const own = diagnosticsOf(text, join(resolve(folder), name))
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

/** Uses the stand-ins for variables that give the fewest errors, because none fits all files. */
function diagnosticsOf(text: string, path: string): readonly Diagnostic[] {
  const tries = STAND_INS.map((environment) => {
    const { diagnostics } = loadText(text, path, { environment }).result
    return diagnostics.filter(({ code }) => code !== ELSEWHERE)
  })
  const errors = (one: readonly Diagnostic[]) =>
    one.filter(({ severity }) => severity === 'error').length
  return tries.sort((one, other) => errors(one) - errors(other))[0] ?? []
}

/** Validates against agentgateway's own schema; accepts everything if the schema is absent. */
function peerSchema(): (value: unknown) => boolean {
  const [file] = globSync(['schema/config.json', '*/schema/config.json'], { cwd: folder })
  if (file === undefined) return () => true
  const ajv = new Ajv2020({ strict: false, logger: false })
  return ajv.compile(JSON.parse(readFileSync(join(folder as string, file), 'utf8')))
}

/** Content without comments and layout. */
function contentOf(text: string): string {
  return JSON.stringify(parseAllDocuments(text)[0]?.toJS())
}

/** The file itself, or the blocks of a page. */
function configurationsIn(file: string, text: string): readonly Found[] {
  const name = relative('.', file)
  if (!/\.mdx?$/.test(file)) return isConfiguration(text) ? [{ name, text }] : []
  return [...text.matchAll(/^([ \t]*)(`{3,})(\w*)[^\n]*\n([\s\S]*?)^[ \t]*\2/gm)]
    .flatMap(([, indent = '', , language = '', block = '']) =>
      partsOf(block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), language),
    )
    .filter(isConfiguration)
    .map((block, index) => ({ name: `${name}#${index + 1}`, text: block }))
}

/**
 * Here-documents are what a shell block writes to a file; any other YAML block is used as it is.
 */
function partsOf(block: string, language: string): readonly string[] {
  const written = [...block.matchAll(/<<-?\s*['"]?(\w+)['"]?[^\n]*\n([\s\S]*?)^\s*\1\s*$/gm)]
  if (written.length > 0) return written.map(([, , text = '']) => text)
  return /^ya?ml$/i.test(language) ? [block] : []
}

function isConfiguration(text: string): boolean {
  const [first, ...more] = parseAllDocuments(text)
  if (first === undefined || more.length > 0 || !('errors' in first)) return false
  if (first.errors.length > 0 || text.includes('{{')) return false
  const value = first.toJS() as unknown
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  if (OTHERS.some((key) => key in value) || ('services' in value && !('binds' in value)))
    return false
  return OUTLINE.some((key) => key in value)
}
