import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { sharedBrowser } from '../../test/browser/shared-browser.ts'
import { manyRoutes } from '../../test/ui/many-routes.ts'
import { openPage, PAGES, settled } from '../../test/ui/pages.ts'
import { startUiGateway } from '../../test/ui/ui-gateway.ts'

/** The resident memory of a gateway, in megabytes, before and after someone opened every page. */
export interface UiMemory {
  readonly idle: number
  readonly most: number
  readonly later: number
}

const ROUTES = 5_000
const PAUSE = 60_000

export async function measureMemory(): Promise<UiMemory> {
  const gateway = await startUiGateway({ text: manyRoutes(ROUTES) })
  const browser = await sharedBrowser()
  const resident = () => {
    const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8')
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
  }
  try {
    await wait(PAUSE)
    const idle = resident()
    let most = idle
    const { page, context } = await openPage(browser, gateway.ui)
    for (const path of PAGES) {
      await page.goto(`${gateway.ui}${path}`)
      await settled(page)
      most = Math.max(most, resident())
    }
    await context.close()
    await wait(PAUSE)
    return { idle, most, later: resident() }
  } finally {
    await gateway.stop()
  }
}
