/// The styles of the page.
enum WaterfallStyle: Sendable {
    static let text = """

        :root {
            --back: #fff; --front: #1c1e21; --faint: #5f6670; --line: #dfe3e8; --panel: #f5f7f9; --error: #b3261e;
        }
        @media (prefers-color-scheme: dark) {
            :root {
                --back: #15181c; --front: #e6e8ea; --faint: #9aa3ad; --line: #30363d; --panel: #1d2127; --error: #ff8a80;
            }
        }
        * { box-sizing: border-box; }
        html { scroll-padding-top: 9rem; }
        body { margin: 0; background: var(--back); color: var(--front); font: 14px/1.45 system-ui, sans-serif; }
        header {
            position: sticky; top: 0; z-index: 1; padding: 12px 16px 0; background: var(--back);
            border-bottom: 1px solid var(--line);
        }
        h1 { display: inline; margin: 0 12px 0 0; font-size: 18px; overflow-wrap: anywhere; }
        #count { display: inline; margin: 0; color: var(--faint); }
        #filter { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; margin: 10px 0; }
        input, select, button { font: inherit; color: inherit; }
        input[type=search], select {
            padding: 4px 8px; border: 1px solid var(--line); border-radius: 5px; background: var(--panel);
        }
        input[type=search] { width: min(22rem, 60vw); }
        :focus-visible { outline-offset: -2px; }
        #keys {
            display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 0 0 8px; padding: 0; list-style: none;
            color: var(--faint); font-size: 12px;
        }
        #keys i { display: inline-block; width: 11px; height: 11px; margin-right: 5px; vertical-align: -1px; }
        .p0 { background: repeating-linear-gradient(135deg, #9aa0a6 0 2px, #9aa0a655 2px 5px); }
        .p1 { background: #00897b; } .p2 { background: #f29900; } .p3 { background: #a142f4; } .p4 { background: #34a853; }
        .p5 { background: #4285f4; } .p6 { background: #8d6e63; } .p7 { background: #9aa0a6; }
        ol#calls { margin: 0; padding: 0; list-style: none; }
        #calls > li { content-visibility: auto; contain-intrinsic-size: auto 29px; border-bottom: 1px solid var(--line); }
        .row, #axis {
            display: grid; grid-template-columns: minmax(0, 5fr) 3.2rem 5rem minmax(0, 8fr); gap: 0 10px; align-items: center;
        }
        .row { width: 100%; padding: 4px 16px; border: 0; background: none; text-align: left; cursor: pointer; }
        .row:hover, .row[aria-expanded=true] { background: var(--panel); }
        .title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .route {
            display: inline-block; overflow: hidden; max-width: 40%; padding: 0 5px; border-radius: 4px;
            background: var(--line); font-size: 12px; font-weight: 500; text-overflow: ellipsis; vertical-align: bottom;
        }
        .outcome, .time { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .time { color: var(--faint); }
        .error .title, .error .outcome, td.failed { color: var(--error); }
        .track { position: relative; height: 16px; overflow: hidden; }
        .track i { position: absolute; top: 2px; height: 12px; min-width: 2px; border-radius: 2px; }
        .track i.failed:not(.p0) { box-shadow: inset 0 -3px var(--error); }
        #axis span {
            grid-row: 1; grid-column: 4; color: var(--faint); font-size: 11px; font-variant-numeric: tabular-nums;
            white-space: nowrap;
        }
        #axis span:nth-child(2) { margin-left: 25%; } #axis span:nth-child(3) { margin-left: 50%; }
        #axis span:nth-child(4) { margin-left: 75%; } #axis span:nth-child(5) { text-align: right; }
        .details { padding: 4px 16px 14px; background: var(--panel); }
        .story { margin: 0 0 8px; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
        dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 12px; margin: 0 0 8px; }
        dt, th { color: var(--faint); font-weight: 400; }
        dd { margin: 0; overflow-wrap: anywhere; }
        table { border-collapse: collapse; }
        th, td { padding: 1px 18px 1px 0; text-align: left; font-variant-numeric: tabular-nums; }
        h2 { margin: 8px 0 2px; font-size: 14px; }
        .decisions { margin: 0; padding-left: 24px; overflow-wrap: anywhere; }
        @media (max-width: 640px) {
            html { scroll-padding-top: 14rem; }
            .row { grid-template-columns: minmax(0, 1fr) 2.4rem 4.6rem; }
            .track { grid-column: 1 / -1; }
            #axis { grid-template-columns: 1fr; }
            #axis span { grid-column: 1; }
            #axis span:nth-child(even) { display: none; }
        }

        """
}
