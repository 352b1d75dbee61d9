import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The license texts of all bundled packages, as their licenses require. */
export function renderNotices(root: string, inputs: readonly string[]): string {
  const sections = packagesOf(inputs).map((folder) => renderNotice(root, folder))
  const lead = 'The bundles contain code of these packages.'
  return `# Notices\n\n${[lead, ...sections].join('\n\n')}\n`
}

/** The folders of the packages that the files belong to. */
export function packagesOf(inputs: readonly string[]): readonly string[] {
  return [...new Set(inputs.flatMap(packageOf))].sort()
}

/** `node_modules/@a/b/node_modules/c/d.js` belongs to `node_modules/@a/b/node_modules/c`. */
function packageOf(input: string): readonly string[] {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
  return found?.[1] === undefined ? [] : [found[1]]
}

function renderNotice(root: string, folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  )
  const file = readdirSync(join(root, folder)).find((entry) => /^(licen[cs]e|copying)/i.test(entry))
  const text = file === undefined ? '' : readFileSync(join(root, folder, file), 'utf8').trim()
  const notice = join(root, folder, 'NOTICE')
  const more = existsSync(notice) ? `\n\n${readFileSync(notice, 'utf8').trim()}` : ''
  const heading = `## ${name} ${version} (${license})`
  return text === '' ? heading : `${heading}\n\n\`\`\`text\n${text}${more}\n\`\`\``
}
