import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './global.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query.ts'
import { whenSessionEnds } from './api/session.ts'
import { startTranslations } from './i18n/index.ts'
import { router } from './routes.ts'
import { styleNonce, theme } from './theme.ts'

whenSessionEnds(() => {
  const { pathname, href } = router.state.location
  if (pathname !== '/sign-in') void router.navigate({ to: '/sign-in', search: { to: href, ended: true } })
})

// Mantine's dialogs stop the page behind them from scrolling by a style element, which reads its nonce here (package get-nonce).
Object.assign(globalThis, { __webpack_nonce__: styleNonce() })

await startTranslations()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce} deduplicateInlineStyles>
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
