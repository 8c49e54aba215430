// In a layer, so that our own styles win whichever file the browser has loaded last.
import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './global.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient, watchConnection } from './api/query.ts'
import { whenSessionEnds } from './api/session.ts'
import { startTranslations } from './i18n/index.ts'
import { router } from './routes.ts'
import { passNonce, styleNonce, theme } from './theme.ts'

whenSessionEnds(() => {
  const { pathname, href } = router.state.location
  if (pathname !== '/sign-in')
    void router.navigate({ to: '/sign-in', search: { to: href, ended: true }, ignoreBlocker: true })
})

passNonce()
watchConnection()
await startTranslations()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce} deduplicateInlineStyles>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
