import { launchBrowser } from '../../test/browser/launch.ts'
import { settled } from '../../test/ui/pages.ts'
import { startUiGateway } from '../../test/ui/ui-gateway.ts'

/** Lighthouse's slow 4G on a phone: bytes per second, milliseconds, CPU slowdown factor. */
const THROTTLED = { throughput: (1.6 * 1024 * 1024) / 8, latency: 150, cpu: 4 } as const

export interface Paint {
  /** Milliseconds from the page request to the first paint, and until all of it is read. */
  readonly first: number
  readonly complete: number
}

/** Paints of the first page in a new browser with an empty cache, sorted by time. */
export async function measurePaints(
  rounds: number,
  isThrottled: boolean,
): Promise<readonly Paint[]> {
  const gateway = await startUiGateway()
  const browser = await launchBrowser({ trusted: [], names: [] })
  const paints: Paint[] = []
  try {
    // The gateway builds the pages on the first request.
    for (let round = -1; round < rounds; round++) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      const page = await context.newPage()
      const session = await context.newCDPSession(page)
      await session.send('Network.enable')
      if (isThrottled) {
        const { throughput, latency, cpu } = THROTTLED
        await session.send('Network.emulateNetworkConditions', {
          offline: false,
          latency,
          downloadThroughput: throughput,
          uploadThroughput: throughput,
        })
        await session.send('Emulation.setCPUThrottlingRate', { rate: cpu })
      }
      await page.goto(gateway.ui)
      await settled(page)
      const complete = Number(await page.evaluate('performance.now()'))
      const first = Number(await page.evaluate(FIRST_PAINT))
      if (round >= 0) paints.push({ first, complete })
      await context.close()
    }
  } finally {
    await browser.close()
    await gateway.stop()
  }
  return paints.toSorted((a, b) => a.first - b.first)
}

const FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
